//! How many groups can apply to one request at most.
//!
//! Few documents have more groups than may apply at once, and most of those keep them apart by one dimension: a group for
//! each route, say. So the search splits the rules by what they insist on, one dimension after the other, and leaves a
//! branch as soon as it holds too few groups.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::demands::{Demands, Dimension, Length};
use crate::rules::resolve::WINNERS_MAX;
use crate::rules::rule::Rule;

/// Rules looked at before the search gives up and says that there may be too many: about a second of work.
const STEPS_MAX: usize = 4_000_000;

/// A rule's group, and what it insists on.
type Member<'r> = (&'r str, Demands<'r>);
type Branch<'s, 'r> = Vec<&'s Member<'r>>;

/// A property of requests that rules insist on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Property<'r> {
    Text(Dimension<'r>),
    Length,
    Address,
}

/// A value of such a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value<'r> {
    Text(&'r str),
    Length(usize),
    Address(IpAddr),
}

/// Groups, more than may, of rules that can all match one request; or of rules of which that could not be excluded.
pub(super) fn too_wide<'r>(rules: &[&'r Rule]) -> Option<Vec<&'r str>> {
    let members: Vec<Member<'r>> = rules.iter().map(|rule| (rule.group(), Demands::new(rule))).collect();
    Search { steps: 0 }.branch(&members.iter().collect(), &mut BTreeSet::new())
}

struct Search {
    steps: usize,
}

impl Search {
    /// Looks for too many groups among members that agree on the properties in `done`.
    fn branch<'r>(&mut self, members: &Branch<'_, 'r>, done: &mut BTreeSet<Property<'r>>) -> Option<Vec<&'r str>> {
        self.steps += members.len();
        let groups = groups(members);
        if groups.len() <= WINNERS_MAX {
            return None;
        }
        let next = properties(members).difference(done).copied().min_by_key(|property| indifferent(*property, members));
        let Some(property) = next.filter(|_| self.steps < STEPS_MAX) else {
            return Some(groups.into_iter().collect());
        };
        done.insert(property);
        let found = self.values(property, members).into_iter().find_map(|inner| self.branch(&inner, done));
        done.remove(&property);
        found
    }

    /// The members that match requests with each value of a property, where that leaves too many groups.
    fn values<'s, 'r>(&mut self, property: Property<'r>, members: &Branch<'s, 'r>) -> Vec<Branch<'s, 'r>> {
        let (insisting, others): (Branch<'_, '_>, Branch<'_, '_>) =
            members.iter().partition(|member| value(property, &member.1).is_some());
        let mut by_value: BTreeMap<Value<'r>, Branch<'s, 'r>> = BTreeMap::new();
        for member in &insisting {
            by_value.entry(value(property, &member.1).expect("they were told apart by it")).or_default().push(member);
        }
        if !matches!(property, Property::Text(_)) {
            self.steps += by_value.len() * insisting.len();
            for (value, branch) in &mut by_value {
                *branch = insisting.iter().copied().filter(|member| fits(*value, &member.1)).collect();
            }
        }
        let spared = groups(&others).len();
        let wide = by_value.into_values().filter(|branch| groups(branch).len() + spared > WINNERS_MAX);
        wide.map(|branch| branch.into_iter().chain(others.iter().copied()).collect()).collect()
    }
}

fn groups<'r>(members: &Branch<'_, 'r>) -> BTreeSet<&'r str> {
    members.iter().map(|(group, _)| *group).collect()
}

/// Every property that some member insists on.
fn properties<'r>(members: &Branch<'_, 'r>) -> BTreeSet<Property<'r>> {
    let mut properties = BTreeSet::new();
    for (_, demands) in members {
        properties.extend(demands.texts.iter().map(|(dimension, _)| Property::Text(*dimension)));
        let others = [Property::Length, Property::Address].into_iter();
        properties.extend(others.filter(|property| value(*property, demands).is_some()));
    }
    properties
}

/// Groups that a property does not tell apart: the fewer, the better it splits.
fn indifferent<'r>(property: Property<'r>, members: &Branch<'_, 'r>) -> usize {
    groups(&members.iter().copied().filter(|(_, demands)| value(property, demands).is_none()).collect()).len()
}

/// A value that meets what a member insists on; all that others can insist on and meet it as well is met by one of these.
fn value<'r>(property: Property<'r>, demands: &Demands<'r>) -> Option<Value<'r>> {
    match property {
        Property::Text(dimension) => demands.value(dimension).map(Value::Text),
        Property::Address => demands.network.map(|network| Value::Address(network.address())),
        Property::Length => match demands.length {
            Length::AtLeast(0) => None,
            Length::AtLeast(least) => Some(Value::Length(least)),
            Length::Exactly(exact) => Some(Value::Length(exact)),
        },
    }
}

fn fits(value: Value<'_>, demands: &Demands<'_>) -> bool {
    match value {
        Value::Text(_) => unreachable!("texts are told apart by their value alone"),
        Value::Address(address) => demands.network.is_none_or(|network| network.contains(address)),
        Value::Length(length) => demands.length.meets(Length::Exactly(length)),
    }
}
