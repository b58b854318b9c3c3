//! What a rule demands of a request, dimension by dimension.
//!
//! Rules can match one request unless some dimension, on which both insist, says otherwise. What holds for every two of
//! several rules holds for all of them: values are equal or not, ranges of addresses lie in each other or apart, and a path
//! has one length. So a request that they all match exists if each two of them can match one.

use crate::rules::address::Network;
use crate::rules::route::Segment;
use crate::rules::rule::Rule;

/// A text of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Dimension<'r> {
    Client,
    Tenant,
    Tier,
    Method,
    /// A segment of the path, from 0.
    Segment(usize),
    Header(&'r str),
    Attribute(&'r str),
}

/// How many segments a path has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Length {
    Exactly(usize),
    AtLeast(usize),
}

/// The demands of one rule.
#[derive(Clone, Debug)]
pub(super) struct Demands<'r> {
    /// In the order of the dimensions.
    pub(super) texts: Vec<(Dimension<'r>, &'r str)>,
    pub(super) length: Length,
    pub(super) network: Option<Network>,
}

impl<'r> Demands<'r> {
    pub(super) fn new(rule: &'r Rule) -> Demands<'r> {
        let conditions = &rule.conditions;
        let named = [
            (Dimension::Client, conditions.client.as_deref()),
            (Dimension::Tenant, conditions.tenant.as_deref()),
            (Dimension::Tier, conditions.tier.as_deref()),
            (Dimension::Method, rule.route().and_then(|route| route.method())),
        ];
        let named = named.into_iter().filter_map(|(dimension, value)| Some((dimension, value?)));
        let headers = conditions.headers.iter().map(|(name, value)| (Dimension::Header(name), &**value));
        let attributes = conditions.attributes.iter().map(|(name, value)| (Dimension::Attribute(name), &**value));
        let mut texts: Vec<_> = named.chain(segments(rule)).chain(headers).chain(attributes).collect();
        texts.sort_unstable();
        Demands { texts, length: length(rule), network: conditions.ip }
    }

    /// The value that is demanded, if one is.
    pub(super) fn value(&self, dimension: Dimension<'r>) -> Option<&'r str> {
        self.texts.iter().find(|(known, _)| *known == dimension).map(|(_, value)| *value)
    }
}

impl Length {
    /// Whether a path can have both.
    pub(super) fn meets(self, other: Length) -> bool {
        match (self, other) {
            (Length::Exactly(a), Length::Exactly(b)) => a == b,
            (Length::Exactly(exact), Length::AtLeast(least)) | (Length::AtLeast(least), Length::Exactly(exact)) => {
                exact >= least
            }
            (Length::AtLeast(_), Length::AtLeast(_)) => true,
        }
    }
}

fn segments(rule: &Rule) -> impl Iterator<Item = (Dimension<'_>, &str)> {
    let segments = rule.route().map_or(&[][..], |route| route.segments());
    segments.iter().enumerate().filter_map(|(at, segment)| match segment {
        Segment::Literal(text) => Some((Dimension::Segment(at), &**text)),
        Segment::Any => None,
    })
}

fn length(rule: &Rule) -> Length {
    match rule.route() {
        None => Length::AtLeast(0),
        Some(route) if route.is_open() => Length::AtLeast(route.segments().len()),
        Some(route) => Length::Exactly(route.segments().len()),
    }
}
