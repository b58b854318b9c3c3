//! The numbers of a rule, and of those that have none.

use super::Compiler;
use crate::code::AlgorithmCode;
use crate::request::PeriodCode;
use crate::rules::document::RuleDoc;
use crate::rules::numbers::{self, Numbers, UNITS_MAX, algorithm_name};
use crate::rules::rule::Action;

const ALGORITHMS: &str = "token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, concurrency";

impl Compiler<'_> {
    pub(super) fn numbers(&mut self, doc: &RuleDoc) -> Option<Numbers> {
        let algorithm = self.algorithm(doc.algorithm.as_deref());
        let limit = self.limit(doc.limit, algorithm);
        let period = self.period(doc, algorithm);
        let burst = self.burst(doc.burst, algorithm);
        if algorithm == Some(AlgorithmCode::Concurrency) {
            self.concurrency(doc);
        }
        Some(Numbers { algorithm: algorithm?, limit: limit?, period: period?, burst: burst? })
    }

    fn algorithm(&mut self, name: Option<&str>) -> Option<AlgorithmCode> {
        let Some(name) = name else {
            self.fault("algorithm", format!("missing: one of {ALGORITHMS}"));
            return None;
        };
        let algorithm = numbers::algorithm_from_name(name);
        self.take("algorithm", algorithm.ok_or_else(|| format!("{name:?} is none of {ALGORITHMS}")))
    }

    fn limit(&mut self, limit: Option<u64>, algorithm: Option<AlgorithmCode>) -> Option<u64> {
        let max = algorithm.map_or(UNITS_MAX, numbers::limit_max);
        let of = if max == UNITS_MAX { "" } else { " for a sliding_log, which keeps every admitted instant" };
        match limit {
            Some(limit) if (1..=max).contains(&limit) => Some(limit),
            Some(limit) => {
                self.fault("limit", format!("{limit} is not in 1 ..= {max}{of}"));
                None
            }
            None => {
                self.fault("limit", format!("missing: 1 ..= {max} units{of}"));
                None
            }
        }
    }

    fn period(&mut self, doc: &RuleDoc, algorithm: Option<AlgorithmCode>) -> Option<PeriodCode> {
        match (doc.window.as_deref(), doc.calendar.as_deref()) {
            (Some(window), None) => self.take("window", numbers::window_us(window)).map(PeriodCode::Micros),
            (None, Some(calendar)) => self.calendar(calendar, algorithm),
            (Some(_), Some(_)) => {
                self.fault("calendar", "a rule has a window or a calendar, not both");
                None
            }
            (None, None) => {
                self.fault("window", "missing: a whole number and its unit, like \"60s\"; or a calendar");
                None
            }
        }
    }

    fn calendar(&mut self, name: &str, algorithm: Option<AlgorithmCode>) -> Option<PeriodCode> {
        if algorithm.is_some_and(|algorithm| algorithm != AlgorithmCode::FixedWindow) {
            self.fault("calendar", "only a fixed_window goes by the calendar");
            return None;
        }
        let period = numbers::calendar(name);
        self.take("calendar", period.ok_or_else(|| format!("{name:?} is none of \"day\", \"week\", \"month\"")))
    }

    /// The ceiling of a bucket; 0 = none given.
    fn burst(&mut self, burst: Option<u64>, algorithm: Option<AlgorithmCode>) -> Option<u64> {
        let Some(burst) = burst else { return Some(0) };
        if let Some(algorithm) = algorithm.filter(|algorithm| !numbers::has_burst(*algorithm)) {
            self.fault("burst", format!("a {} has none: token_bucket and leaky_bucket do", algorithm_name(algorithm)));
            return None;
        }
        let is_good = (1..=UNITS_MAX).contains(&burst);
        if !is_good {
            self.fault("burst", format!("{burst} is not in 1 ..= {UNITS_MAX}"));
        }
        is_good.then_some(burst)
    }

    /// Slots are held or not: there is nothing to keep, take ahead or guess.
    fn concurrency(&mut self, doc: &RuleDoc) {
        for (field, is_there) in [
            ("priorities", !doc.priorities.is_empty()),
            ("grant", doc.grant.is_some()),
            ("prefilter", doc.prefilter.is_some()),
        ] {
            if is_there {
                self.fault(field, "a concurrency rule has none");
            }
        }
    }

    /// A rule that counts nothing says nothing about counting.
    pub(super) fn without_numbers(&mut self, doc: &RuleDoc, action: Action) -> Option<Action> {
        let fields = [
            ("key", doc.key.as_ref().is_some_and(|key| !key.is_empty())),
            ("missing", doc.missing.is_some()),
            ("algorithm", doc.algorithm.is_some()),
            ("limit", doc.limit.is_some()),
            ("window", doc.window.is_some()),
            ("calendar", doc.calendar.is_some()),
            ("burst", doc.burst.is_some()),
            ("durability", doc.durability.is_some()),
            ("soft", doc.soft.is_some()),
            ("priorities", !doc.priorities.is_empty()),
            ("keys_max", doc.keys_max.is_some()),
            ("fallback_gateways", doc.fallback_gateways.is_some()),
            ("grant", doc.grant.is_some()),
            ("prefilter", doc.prefilter.is_some()),
        ];
        for (field, _) in fields.into_iter().filter(|(_, is_there)| *is_there) {
            self.fault(field, "a rule that allows or blocks counts nothing: leave it out");
        }
        if doc.mode.as_deref().is_some_and(|mode| mode != "shadow") {
            self.fault("mode", "a rule that allows or blocks asks no store: its mode is \"shadow\" or none");
        }
        Some(action)
    }
}
