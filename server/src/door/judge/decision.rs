//! What the rules came to.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tallyring_protocol::rules::{Action, Rule, Say, speaker};

use super::bench::Bench;
use super::verdict::Verdict;

/// Whether a request may go on, and what its sender may be told.
#[derive(Debug)]
pub struct Decision {
    /// Whether the request may go on. A refused request has taken nothing of any rule.
    pub allowed: bool,
    /// What each enforced rule that applies decided, in the order of the document. Of a refused request those are left
    /// out that did not have to be asked any more.
    pub checks: SmallVec<[RuleDecision; 2]>,
    /// How close the closest of them is to its end.
    pub level: Level,
    /// The instant of the decision, in microseconds since the Unix epoch; `None` if no shard was asked.
    pub at_us: Option<u64>,
    speaker: Option<usize>,
    bench: Arc<Bench>,
}

/// What one rule decided.
#[derive(Clone, Copy, Debug)]
pub struct RuleDecision {
    /// Its place in the document.
    pub order: usize,
    /// Whether it lets the request pass.
    pub allowed: bool,
    /// The ceiling; 0 for a rule that blocks.
    pub limit: u64,
    /// Whole units left after this call.
    pub remaining: u64,
    /// The smallest wait after which the same call would pass; zero if it did, `None` if no wait helps.
    pub retry_after: Option<Duration>,
    /// The smallest wait after which the whole budget is free again.
    pub reset_after: Duration,
    /// How long a leaky bucket asks to hold the request; `None` for other algorithms.
    pub delay: Option<Duration>,
}

/// How much of a budget is left, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Enough.
    Ok,
    /// Allowed, but a rule's `soft` fraction is used.
    Soft,
    /// Refused.
    Denied,
}

impl Decision {
    pub(super) fn new(bench: Arc<Bench>, verdicts: impl Iterator<Item = (usize, Verdict)>) -> Decision {
        let mut at_us = None;
        let checks: SmallVec<[RuleDecision; 2]> = verdicts
            .map(|(order, verdict)| {
                at_us = at_us.max(verdict.at_us());
                verdict.decision(order)
            })
            .collect();
        let allowed = checks.iter().all(|check| check.allowed);
        let level = match checks.iter().any(|check| check.is_soft(bench.rule(check.order))) {
            _ if !allowed => Level::Denied,
            true => Level::Soft,
            false => Level::Ok,
        };
        let speaker = speaker(checks.iter().map(RuleDecision::say));
        Decision { allowed, checks, level, at_us, speaker, bench }
    }

    /// The rules that were in force.
    pub fn bench(&self) -> &Bench {
        &self.bench
    }

    /// The rule that a check is of.
    pub fn rule(&self, check: &RuleDecision) -> &Rule {
        self.bench.rule(check.order)
    }

    /// The check whose rule the request's sender is told about; `None` if no rule applies.
    pub fn speaker(&self) -> Option<&RuleDecision> {
        self.speaker.map(|at| &self.checks[at])
    }

    /// The rules whose `soft` fraction an allowed request has reached.
    pub fn soft(&self) -> impl Iterator<Item = &Rule> {
        let checks = if self.level == Level::Soft { &self.checks[..] } else { &[] };
        checks
            .iter()
            .map(|check| (check, self.rule(check)))
            .filter(|(check, rule)| check.is_soft(rule))
            .map(|(_, rule)| rule)
    }

    /// The rules that refused whatever they are for, without asking a shard.
    pub fn blocked(&self) -> impl Iterator<Item = &Rule> {
        self.checks.iter().map(|check| self.rule(check)).filter(|rule| rule.action() == Action::Block)
    }

    /// How long the request should be held so that the output keeps the rate of every leaky bucket that it passed;
    /// `None` if it passed none.
    pub fn delay(&self) -> Option<Duration> {
        self.checks.iter().filter_map(|check| check.delay).max()
    }
}

impl RuleDecision {
    fn say(&self) -> Say {
        let RuleDecision { allowed, remaining, retry_after, .. } = *self;
        Say { allowed, remaining, retry_after }
    }

    fn is_soft(&self, rule: &Rule) -> bool {
        rule.numbers().is_some() && rule.is_soft(self.remaining)
    }
}
