//! The conditions besides the route that rules are found by.

use super::hash::Map;
use super::{ANY, Matches};
use crate::rules::address::Network;
use crate::rules::conditions::Conditions;
use crate::rules::facts::Facts;
use crate::rules::rule::Rule;

/// A text of a request that conditions compare.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Property {
    Client,
    Tenant,
    Tier,
    Header(Box<str>),
    Attribute(Box<str>),
}

/// One condition of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Condition {
    Is(Property, Box<str>),
    Within(Network),
}

/// Every anchor, by what a request must have for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Anchors {
    values: Vec<(Property, Map<Box<str>, u32>)>,
    /// Lengths of the prefixes of both families, to know what to ask the networks for.
    prefixes: Vec<(bool, u8)>,
    networks: Map<Network, u32>,
    count: u32,
}

impl Anchors {
    /// The anchors of all rules, and which one each of them has: the condition that it shares with the fewest others.
    pub(super) fn new(rules: &[Rule]) -> (Anchors, Vec<u32>) {
        let mut shares: Map<Condition, u32> = Map::default();
        rules.iter().flat_map(|rule| list(&rule.conditions)).for_each(|c| *shares.entry(c).or_default() += 1);
        let mut anchors = Anchors::default();
        let of_rule = |rule: &Rule| {
            let rarest = list(&rule.conditions).into_iter().min_by_key(|condition| shares[condition]);
            rarest.map_or(ANY, |condition| anchors.number(condition))
        };
        let of_rules = rules.iter().map(of_rule).collect();
        (anchors, of_rules)
    }

    /// The anchors that a request has, and the one of rules without.
    pub(super) fn matching(&self, facts: &Facts<'_>) -> Matches {
        let mut matches = Matches::from_slice(&[ANY]);
        let values = self.values.iter().filter_map(|(property, values)| values.get(property.value(facts)?));
        values.for_each(|anchor| matches.push(*anchor));
        if let Some(address) = facts.address {
            let prefixes = self.prefixes.iter().filter(|(is_ipv4, _)| *is_ipv4 == address.is_ipv4());
            let networks = prefixes.map(|(_, bits)| Network::around(address, *bits));
            networks.filter_map(|network| self.networks.get(&network)).for_each(|anchor| matches.push(*anchor));
        }
        matches
    }

    fn number(&mut self, condition: Condition) -> u32 {
        let next = self.count + 1; // 0 is ANY
        let found = match condition {
            Condition::Is(property, value) => *self.values_of(property).entry(value).or_insert(next),
            Condition::Within(network) => self.number_network(network, next),
        };
        self.count = self.count.max(found);
        found
    }

    fn values_of(&mut self, property: Property) -> &mut Map<Box<str>, u32> {
        let known = self.values.iter().position(|(known, _)| *known == property);
        let at = known.unwrap_or_else(|| {
            self.values.push((property, Map::default()));
            self.values.len() - 1
        });
        &mut self.values[at].1
    }

    fn number_network(&mut self, network: Network, next: u32) -> u32 {
        let prefix = (network.address().is_ipv4(), network.bits());
        if !self.prefixes.contains(&prefix) {
            self.prefixes.push(prefix);
        }
        *self.networks.entry(network).or_insert(next)
    }
}

impl Property {
    fn value<'a>(&self, facts: &Facts<'a>) -> Option<&'a str> {
        match self {
            Property::Client => facts.client,
            Property::Tenant => facts.tenant,
            Property::Tier => facts.tier,
            Property::Header(name) => facts.header(name),
            Property::Attribute(name) => facts.attribute(name),
        }
    }
}

fn list(conditions: &Conditions) -> Vec<Condition> {
    let named = [
        (Property::Client, &conditions.client),
        (Property::Tenant, &conditions.tenant),
        (Property::Tier, &conditions.tier),
    ];
    let named = named.into_iter().filter_map(|(property, value)| Some((property, value.as_ref()?)));
    let headers = conditions.headers.iter().map(|(name, value)| (Property::Header(name.clone()), value));
    let attributes = conditions.attributes.iter().map(|(name, value)| (Property::Attribute(name.clone()), value));
    let texts = named.chain(headers).chain(attributes).map(|(property, value)| Condition::Is(property, value.clone()));
    texts.chain(conditions.ip.map(Condition::Within)).collect()
}
