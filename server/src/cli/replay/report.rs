//! What a replay found, in the forms that people and programs read.

pub(super) mod html;
pub(super) mod json;
pub(super) mod table;

use tallyring_protocol::rules::{Action, Rule};

use super::order::Counts;
use super::tally::{Peak, RuleTally, Tallies, Timeline};

/// Keys that are named of those that a rule denied most.
const WORST_MAX: usize = 10;

/// What a replay found.
pub(super) struct Report {
    counts: Counts,
    requests: u64,
    admitted: u64,
    span_us: Option<(u64, u64)>,
    rules: Vec<RuleReport>,
    timeline: Timeline,
    /// Rules that a log says nothing about.
    not_judged: Vec<String>,
    untracked: u64,
    full: u64,
}

/// What it found of one rule.
struct RuleReport {
    id: String,
    order: usize,
    /// Its group, and whether it is in shadow.
    group: String,
    is_shadow: bool,
    allowed: u64,
    denied: u64,
    keys: usize,
    keys_denied: usize,
    worst: Vec<(String, u64)>,
    peak: Option<Peak>,
}

impl Report {
    pub(super) fn new(tallies: &Tallies<'_>, counts: Counts, full: u64) -> Report {
        let (judged, others): (Vec<_>, Vec<_>) = tallies.rules().iter().partition(|tally| tally.is_judged());
        let concurrent = others.into_iter().filter(|tally| tally.rule.action() != Action::Allow);
        Report {
            counts,
            requests: tallies.requests(),
            admitted: tallies.admitted(),
            span_us: tallies.span_us(),
            rules: judged.into_iter().map(RuleReport::new).collect(),
            timeline: tallies.timeline().clone(),
            not_judged: concurrent.map(|tally| tally.rule.id().to_owned()).collect(),
            untracked: tallies.untracked(),
            full,
        }
    }

    /// Whether every log was read to its end, and understood.
    pub(super) fn is_whole(&self) -> bool {
        self.counts.failures.is_empty()
    }

    /// Whether there is nothing to report but that no log could be read, or understood.
    pub(super) fn is_of_nothing(&self) -> bool {
        self.requests == 0 && !self.is_whole()
    }

    /// Why logs could not be read to their end, or not at all; a line each.
    pub(super) fn failures(&self) -> &[String] {
        &self.counts.failures
    }

    /// What somebody who reads the numbers should know about them, a line each.
    pub(super) fn remarks(&self) -> Vec<String> {
        let counts = &self.counts;
        let counted = [
            (counts.skipped, "lines of no known format, skipped"),
            (counts.cut, "lines that were cut, and count as far as they go"),
            (counts.late, "requests more than five minutes late, decided when they came"),
            (counts.nowhere, "requests without an address, to which no rule with ip in its key applies"),
            (self.untracked, "decisions about keys beyond the first million, which are in no count of keys"),
            (self.full, "requests that were not decided, since the counters' memory is full"),
        ];
        let counted =
            counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what}: {count}"));
        let concurrent = self
            .not_judged
            .iter()
            .map(|id| format!("rule {id:?} was left out: a log does not say how long its slots would be held"));
        counts.failures.iter().cloned().chain(counted).chain(concurrent).collect()
    }

    /// Requests that some enforced rule denied.
    fn rejected(&self) -> u64 {
        self.requests - self.admitted
    }
}

impl RuleReport {
    fn new(tally: &RuleTally<'_>) -> RuleReport {
        let rule: &Rule = tally.rule;
        RuleReport {
            id: rule.id().to_owned(),
            order: rule.order(),
            group: rule.group().to_owned(),
            is_shadow: rule.is_shadow(),
            allowed: tally.allowed,
            denied: tally.denied,
            keys: tally.keys(),
            keys_denied: tally.keys_denied(),
            worst: tally.worst(WORST_MAX),
            peak: tally.peak.clone(),
        }
    }

    fn decisions(&self) -> u64 {
        self.allowed + self.denied
    }
}
