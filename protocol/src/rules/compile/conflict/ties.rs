//! Rules of one group that are equally specific and can match the same request.
//!
//! Rules that insist on the same dimensions (one *shape*) match the same request exactly if they insist on the same
//! values; of two shapes that is so for the dimensions that they share. So values are compared by sorting, shape by shape,
//! and ten thousand overrides of ten thousand clients take ten thousand steps and not their square.

use std::collections::BTreeMap;

use super::demands::{Demands, Dimension, Length};
use crate::rules::address::Network;
use crate::rules::error::Faults;
use crate::rules::rule::Rule;

/// What rules insist on, without the values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape<'r> {
    dimensions: Vec<Dimension<'r>>,
    length: Length,
    /// Whether of IPv4, and how many bits.
    prefix: Option<(bool, u8)>,
}

type Contestant<'r> = (&'r Rule, Demands<'r>);

/// Notes every rule that ties with an earlier one.
pub(super) fn find(rules: &[Rule], faults: &mut Faults) {
    let mut contests: BTreeMap<_, Vec<Contestant<'_>>> = BTreeMap::new();
    for rule in rules {
        let contest = (rule.group(), rule.is_shadow(), rule.specificity());
        contests.entry(contest).or_default().push((rule, Demands::new(rule)));
    }
    contests.into_values().filter(|contest| contest.len() > 1).for_each(|contest| find_among(contest, faults));
}

fn find_among(contest: Vec<Contestant<'_>>, faults: &mut Faults) {
    let mut shapes: BTreeMap<Shape<'_>, Vec<Contestant<'_>>> = BTreeMap::new();
    for contestant in contest {
        shapes.entry(Shape::of(&contestant.1)).or_default().push(contestant);
    }
    let shapes: Vec<_> = shapes.into_iter().collect();
    for (at, (shape, rules)) in shapes.iter().enumerate() {
        for (other, others) in shapes[at..].iter().filter(|(other, _)| shape.meets(other)) {
            compare(&shape.common(other), rules, others, faults);
        }
    }
}

/// Notes rules of two shapes, or of one, that insist on the same values of what both insist on.
fn compare<'r>(common: &Shape<'r>, some: &[Contestant<'r>], others: &[Contestant<'r>], faults: &mut Faults) {
    let mut first: BTreeMap<_, &Rule> = BTreeMap::new();
    for (rule, demands) in some {
        first.entry(common.values(demands)).or_insert(rule);
    }
    for (rule, demands) in others {
        // Two rules of one id are a fault of their own, which is noted already.
        if let Some(rival) = first.get(&common.values(demands)).filter(|rival| rival.id() != rule.id()) {
            note(rule, rival, faults);
        }
    }
}

fn note(a: &Rule, b: &Rule, faults: &mut Faults) {
    let (first, second) = if a.order() < b.order() { (a, b) } else { (b, a) };
    let reason = format!(
        "{:?} ties with {:?} (rule[{}]): both can match one request in group {:?}, and neither is more specific; \
         give one a higher rank, or another group",
        second.id(),
        first.id(),
        first.order(),
        first.group()
    );
    faults.add(format!("rule[{}].rank", second.order()), reason);
}

impl<'r> Shape<'r> {
    fn of(demands: &Demands<'r>) -> Shape<'r> {
        Shape {
            dimensions: demands.texts.iter().map(|(dimension, _)| *dimension).collect(),
            length: demands.length,
            prefix: demands.network.map(|network| (network.address().is_ipv4(), network.bits())),
        }
    }

    /// Whether a request can fit both, as far as the shapes say.
    fn meets(&self, other: &Shape<'r>) -> bool {
        let same_family = match (self.prefix, other.prefix) {
            (Some((a, _)), Some((b, _))) => a == b,
            _ => true,
        };
        same_family && self.length.meets(other.length)
    }

    /// What both insist on.
    fn common(&self, other: &Shape<'r>) -> Shape<'r> {
        let shared = self.dimensions.iter().filter(|dimension| other.dimensions.contains(dimension));
        let prefix = self.prefix.zip(other.prefix).map(|(a, b)| (a.0, a.1.min(b.1)));
        Shape { dimensions: shared.copied().collect(), length: self.length, prefix }
    }

    /// The values that a rule insists on in these dimensions.
    fn values(&self, demands: &Demands<'r>) -> (Vec<Option<&'r str>>, Option<(std::net::IpAddr, u8)>) {
        let texts = self.dimensions.iter().map(|dimension| demands.value(*dimension)).collect();
        let network = self.prefix.zip(demands.network);
        let network = network.map(|((_, bits), network)| Network::around(network.address(), bits));
        (texts, network.map(|network| (network.address(), network.bits())))
    }
}
