//! Decisions by rule: those of the shards, and those that gateways report to have made by themselves.

use std::collections::BTreeMap;

use crate::observe::local::LocalReport;
use crate::observe::metrics::{Exposition, Type};
use crate::shard::Report;

/// Rules that have series of their own; the decisions of the others, by name, are summed under [`OTHER_RULES`].
///
/// A client names rules as it likes: without a bound it could make every scrape as large as it likes.
const RULE_SERIES_MAX: usize = 1_000;

/// The label of the rules beyond [`RULE_SERIES_MAX`]. No rule id has a space.
const OTHER_RULES: &str = "other rules";

/// How a call ends: what shards decide, then what gateways decide without them, in the order of their report. Of a rule
/// in shadow each is counted under its name behind `shadow_`.
const OUTCOMES: [&str; 10] = [
    "allowed",
    "denied",
    "full",
    "deny_cache",
    "prefilter",
    "fallback_allowed",
    "fallback_denied",
    "mode_denied",
    "blocked",
    "grant_allowed",
];

/// Outcomes that every rule has series for from the beginning; the others appear when they first happen.
const KNOWN: usize = 3;

/// The counts of one rule.
#[derive(Clone, Copy, Default)]
struct Counts {
    enforced: [u64; OUTCOMES.len()],
    shadow: [u64; OUTCOMES.len()],
    grant_excess: u64,
    soft: u64,
}

impl Counts {
    fn of(&mut self, shadow: bool) -> &mut [u64; OUTCOMES.len()] {
        if shadow { &mut self.shadow } else { &mut self.enforced }
    }

    fn add(&mut self, more: &Counts) {
        add(&mut self.enforced, &more.enforced);
        add(&mut self.shadow, &more.shadow);
        self.grant_excess = self.grant_excess.saturating_add(more.grant_excess);
        self.soft = self.soft.saturating_add(more.soft);
    }
}

fn add(sum: &mut [u64], more: &[u64]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

/// The counts of every rule, by its id.
pub(super) struct Decisions<'a>(BTreeMap<&'a str, Counts>);

impl<'a> Decisions<'a> {
    /// What these reports come to, and what the door itself has counted.
    pub(super) fn of(reports: impl Iterator<Item = &'a Report> + Clone, door: &'a [LocalReport]) -> Decisions<'a> {
        let mut rules: BTreeMap<&str, Counts> = [("", Counts::default())].into();
        for rule in reports.clone().flat_map(|report| &report.rules) {
            let counts = rules.entry(&rule.rule).or_default().of(rule.shadow);
            add(&mut counts[..KNOWN], &[rule.allowed, rule.denied, rule.full]);
        }
        for local in reports.flat_map(|report| &report.locals).chain(door) {
            let [outcomes @ .., grant_excess, soft] = local.counts.values();
            let counts = rules.entry(&local.rule).or_default();
            add(&mut counts.of(local.shadow)[KNOWN..], &outcomes);
            counts.grant_excess = counts.grant_excess.saturating_add(grant_excess);
            counts.soft = counts.soft.saturating_add(soft);
        }
        Decisions(rules).bounded()
    }

    fn bounded(mut self) -> Decisions<'a> {
        if let Some((&first_beyond, _)) = self.0.iter().nth(RULE_SERIES_MAX) {
            let beyond = self.0.split_off(first_beyond);
            let others = self.0.entry(OTHER_RULES).or_default();
            beyond.into_values().for_each(|counts| others.add(&counts));
        }
        self
    }

    /// Appends the families.
    pub(super) fn families(&self, text: &mut Exposition) {
        let mut samples = Vec::new();
        for (rule, counts) in &self.0 {
            let enforced = OUTCOMES.iter().map(|outcome| (*outcome).to_owned());
            let shadow = OUTCOMES.iter().map(|outcome| format!("shadow_{outcome}"));
            let counted = enforced.zip(counts.enforced).chain(shadow.zip(counts.shadow)).enumerate();
            let counted = counted.filter(|(at, (_, count))| *at < KNOWN || *count > 0);
            samples.extend(counted.map(|(_, (outcome, count))| (*rule, outcome, count)));
        }
        let labels: Vec<[(&str, &str); 2]> =
            samples.iter().map(|(rule, outcome, _)| [("rule", *rule), ("outcome", outcome.as_str())]).collect();
        let counts = labels.iter().zip(&samples).map(|(labels, (.., count))| (&labels[..], *count));
        let help = "Decisions by rule and outcome, those of gateways by themselves included; rule is empty for limits that \
                    no rule gave.";
        text.family("tallyring_decisions_total", Type::Counter, help, counts);
        let help =
            "Calls allowed with so much used that the rule's soft fraction is reached; among those allowed, too.";
        self.rare_family(text, "tallyring_soft_decisions_total", help, |counts| counts.soft);
        let help = "Units that gateways spent out of grants behind the end of their window.";
        self.rare_family(text, "tallyring_grant_excess_units_total", help, |counts| counts.grant_excess);
    }

    /// A family of the rules that have anything to count.
    fn rare_family(&self, text: &mut Exposition, name: &str, help: &str, count: impl Fn(&Counts) -> u64) {
        let counted = self.0.iter().map(|(rule, counts)| ([("rule", *rule)], count(counts)));
        let samples: Vec<_> = counted.filter(|(_, count)| *count > 0).collect();
        text.family(name, Type::Counter, help, samples.iter().map(|(labels, count)| (&labels[..], *count)));
    }
}

#[cfg(test)]
mod tests {
    use tallyring_protocol::LocalCounts;

    use super::*;
    use crate::shard::RuleReport;

    fn exposition(reports: &[Report]) -> String {
        let mut text = Exposition::default();
        Decisions::of(reports.iter(), &[]).families(&mut text);
        text.finish()
    }

    #[test]
    fn a_client_that_invents_rules_does_not_grow_the_scrape() {
        let invented = |n: usize| RuleReport { rule: format!("rule-{n:05}"), allowed: 1, ..RuleReport::default() };
        let report = Report { rules: (0..5_000).map(invented).collect(), ..Report::default() };
        let text = exposition(&[report.clone(), report]);
        assert_eq!(text.lines().count(), 2 + KNOWN * (RULE_SERIES_MAX + 1) + 2 * 2);
        assert!(text.contains("{rule=\"rule-00998\",outcome=\"allowed\"} 2\n"));
        assert!(text.contains("{rule=\"other rules\",outcome=\"allowed\"} 8002\n"), "{text}");
    }

    #[test]
    fn what_gateways_decide_is_counted_beside_what_shards_decide_and_shadows_apart() {
        let local = |rule: &str, shadow, counts| LocalReport { rule: rule.to_owned(), shadow, counts };
        let cached = LocalCounts { deny_cache: 4, grant_excess: 2, soft: 6, ..LocalCounts::default() };
        let report = Report {
            rules: vec![
                RuleReport { rule: "a".into(), denied: 3, ..RuleReport::default() },
                RuleReport { rule: "a".into(), shadow: true, denied: 5, ..RuleReport::default() },
            ],
            locals: vec![
                local("a", false, cached),
                local("b", false, LocalCounts { blocked: 7, ..LocalCounts::default() }),
                local("a", true, LocalCounts { deny_cache: 1, ..LocalCounts::default() }),
            ],
            ..Report::default()
        };
        let text = exposition(&[report]);
        for (rule, outcome, count) in [
            ("a", "denied", 3),
            ("a", "deny_cache", 4),
            ("a", "shadow_denied", 5),
            ("a", "shadow_deny_cache", 1),
            ("b", "blocked", 7),
            ("b", "allowed", 0),
        ] {
            let line = format!("tallyring_decisions_total{{rule=\"{rule}\",outcome=\"{outcome}\"}} {count}\n");
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        assert!(text.contains("tallyring_grant_excess_units_total{rule=\"a\"} 2\n"), "{text}");
        assert!(text.contains("tallyring_soft_decisions_total{rule=\"a\"} 6\n"), "{text}");
        assert!(!text.contains("prefilter"), "{text}");
    }
}
