//! What gateways decided without the store, by rule, as they report it.

use std::collections::BTreeMap;

use tallyring_protocol::{LocalCounts, Report};

/// Rules that are counted by their names; the counts of further ones are summed under [`OTHERS`].
///
/// A client names rules as it likes: without a bound it could take all the memory there is.
pub(super) const LOCAL_RULES_MAX: usize = 4_096;

/// Stands for the rules beyond [`LOCAL_RULES_MAX`]. No rule id has a space.
const OTHERS: &str = "other rules";

/// A rule's id, and whether it was in shadow.
type Name = (Box<str>, bool);

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Locals(BTreeMap<Name, LocalCounts>);

impl Locals {
    /// Counts what a gateway reports.
    pub(super) fn add(&mut self, report: &Report<'_>) {
        let name = (report.rule.into(), report.shadow);
        let known = self.0.len() < LOCAL_RULES_MAX || self.0.contains_key(&name);
        let name = if known { name } else { (OTHERS.into(), report.shadow) };
        self.0.entry(name).or_default().add(&report.counts);
    }

    /// The counts by rule.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, bool, LocalCounts)> {
        self.0.iter().map(|((rule, shadow), counts)| (&**rule, *shadow, *counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_invents_rules_is_counted_without_growing_the_map() {
        let mut locals = Locals::default();
        let counts = LocalCounts { deny_cache: 1, ..LocalCounts::default() };
        let rules = LOCAL_RULES_MAX + 10;
        for n in 0..2 * rules {
            locals.add(&Report { rule: &format!("rule-{}", n % rules), shadow: false, counts });
        }
        assert_eq!(locals.iter().count(), LOCAL_RULES_MAX + 1);
        let count = |name: &str| locals.iter().find(|(rule, ..)| *rule == name).unwrap().2.deny_cache;
        assert_eq!((count("rule-0"), count(OTHERS)), (2, 20));
    }
}
