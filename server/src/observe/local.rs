//! What was decided without a shard, or what a shard cannot know of its decisions, by rule: as gateways report it, and as the
//! doors of the node count it themselves.

use std::collections::BTreeMap;

use tallyring_protocol::{LocalCounts, Report};

/// Rules that are counted by their names; the counts of further ones are summed under [`OTHERS`].
///
/// A client names rules as it likes: without a bound it could take all the memory there is.
pub const LOCAL_RULES_MAX: usize = 4_096;

/// Stands for the rules beyond [`LOCAL_RULES_MAX`]. No rule id has a space.
const OTHERS: &str = "other rules";

/// A rule's id, and whether it was in shadow.
type Name = (Box<str>, bool);

/// What was counted of one rule.
#[derive(Clone, Debug, Default)]
pub struct LocalReport {
    /// The rule's id; empty = none.
    pub rule: String,
    /// Whether it was not enforced.
    pub shadow: bool,
    /// What was counted.
    pub counts: LocalCounts,
}

/// The counts.
#[derive(Debug, Default)]
pub struct Locals(BTreeMap<Name, LocalCounts>);

impl Locals {
    /// Counts what is reported.
    pub fn add(&mut self, report: &Report<'_>) {
        let name = (report.rule.into(), report.shadow);
        let known = self.0.len() < LOCAL_RULES_MAX || self.0.contains_key(&name);
        let name = if known { name } else { (OTHERS.into(), report.shadow) };
        self.0.entry(name).or_default().add(&report.counts);
    }

    /// The counts by rule.
    pub fn reports(&self) -> Vec<LocalReport> {
        let report = |((rule, shadow), counts): (&Name, &LocalCounts)| LocalReport {
            rule: rule.to_string(),
            shadow: *shadow,
            counts: *counts,
        };
        self.0.iter().map(report).collect()
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
        let reports = locals.reports();
        assert_eq!(reports.len(), LOCAL_RULES_MAX + 1);
        let count = |name: &str| reports.iter().find(|report| report.rule == name).unwrap().counts.deny_cache;
        assert_eq!((count("rule-0"), count(OTHERS)), (2, 20));
    }
}
