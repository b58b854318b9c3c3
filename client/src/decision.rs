//! What a limiter answers: always something.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tallyring_protocol::rules::{Rule, RuleSet, Say, speaker};
use tallyring_protocol::{Key, RulesVersion};

use crate::held::Held;
use crate::limiter::{Limited, Snapshot};

/// Whether a request may go on, what decided that, and what its sender may be told.
///
/// Slots that it holds, of rules that limit concurrency, are released when its last clone is dropped: see
/// [`Decision::held`].
#[derive(Clone, Debug)]
pub struct Decision {
    /// Whether the request may go on. A refused request has taken nothing of any rule.
    pub allowed: bool,
    /// What was decided by each enforced rule that applies, in the order of the document. Of a refused request those are
    /// left out that did not have to be asked any more.
    pub checks: Vec<RuleDecision>,
    /// How close the closest of them is to its end.
    pub level: Level,
    /// The rules that were in force.
    pub version: RulesVersion,
    pub(crate) speaker: Option<usize>,
    pub(crate) held: Held,
}

/// How much of a budget is left, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Enough.
    Ok,
    /// Allowed, but a rule's `soft` fraction is used: time to degrade or to warn.
    Soft,
    /// Refused.
    Denied,
}

/// What one rule decided.
#[derive(Clone, Debug)]
pub struct RuleDecision {
    /// The rule.
    pub rule: RuleRef,
    /// Whether this rule lets the request pass.
    pub allowed: bool,
    /// The ceiling: a bucket's burst, else the limit. From the fallback: that of this gateway's share.
    pub limit: u64,
    /// Whole units left after this call.
    pub remaining: u64,
    /// The smallest wait after which the same call would pass; zero if it did, `None` if no wait helps.
    pub retry_after: Option<Duration>,
    /// The smallest wait after which the whole budget is free again.
    pub reset_after: Duration,
    /// How long a leaky bucket asks to hold the request so that the output keeps the rate; zero for other algorithms.
    pub delay: Duration,
    /// Who decided.
    pub source: Source,
    /// The instant of the charge on the store's clock, in microseconds, if the store charged: a refund names it.
    pub charged_at_us: Option<u64>,
    /// Units that were charged.
    pub(crate) charged: u64,
    /// Whose budget.
    pub(crate) key: Key,
    /// The key's keyed hash in this gateway.
    pub(crate) identity: u64,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The store: the count is exact and shared.
    Store,
    /// This gateway's memory of a refusal that still holds.
    DenyCache,
    /// This gateway's own count of a hot key, which alone is over the limit.
    Prefilter,
    /// Units that this gateway has taken from the store ahead of time.
    Grant,
    /// This gateway alone, within its share of the limit: the store could not be asked.
    Fallback,
    /// Nobody: the store could not be asked and the rule's mode is to deny then.
    Mode,
    /// The rule itself: it blocks whatever it matches.
    Rule,
}

impl Source {
    /// The name in answers and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Store => "store",
            Source::DenyCache => "deny_cache",
            Source::Prefilter => "prefilter",
            Source::Grant => "grant",
            Source::Fallback => "fallback",
            Source::Mode => "mode",
            Source::Rule => "rule",
        }
    }
}

/// A rule, and the set that it is from, which it keeps alive.
#[derive(Clone)]
pub struct RuleRef {
    snapshot: Arc<Snapshot>,
    order: usize,
}

impl RuleRef {
    pub(crate) fn new(snapshot: &Arc<Snapshot>, order: usize) -> RuleRef {
        RuleRef { snapshot: Arc::clone(snapshot), order }
    }

    /// The set that it is from.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.snapshot.rules
    }

    /// How this gateway enforces it.
    pub(crate) fn limited(&self) -> &Limited {
        self.snapshot.limited(self.order)
    }
}

impl Deref for RuleRef {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.snapshot.rules.rules()[self.order]
    }
}

impl std::fmt::Debug for RuleRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RuleRef").field(&self.id()).finish()
    }
}

impl Decision {
    pub(crate) fn new(checks: Vec<RuleDecision>, version: RulesVersion, held: Held) -> Decision {
        let allowed = checks.iter().all(|check| check.allowed);
        let level = match checks.iter().any(RuleDecision::is_soft) {
            _ if !allowed => Level::Denied,
            true => Level::Soft,
            false => Level::Ok,
        };
        Decision { allowed, speaker: speaker(checks.iter().map(RuleDecision::say)), checks, level, version, held }
    }

    /// This decision and another on the same request, by other groups of rules, as one.
    #[cfg(feature = "tower")]
    pub(crate) fn and(&self, other: &Decision) -> Decision {
        let mut checks: Vec<RuleDecision> = self.checks.iter().chain(&other.checks).cloned().collect();
        checks.sort_by_key(|check| check.rule.order());
        Decision::new(checks, self.version.max(other.version), self.held.and(&other.held))
    }

    /// The same, after what it charged was given back.
    #[cfg(feature = "tower")]
    pub(crate) fn given_back(mut self) -> Decision {
        for check in &mut self.checks {
            check.remaining = check.remaining.saturating_add(check.charged).min(check.limit);
            check.charged = 0;
        }
        self
    }

    /// The same, holding nothing: to speak of it when the request is over.
    #[cfg(feature = "tower")]
    pub(crate) fn without_held(self) -> Decision {
        Decision { held: Held::default(), ..self }
    }

    /// The rule that the request's sender is told about; `None` if no rule applies.
    ///
    /// Of a refused request the one with the longest wait, of an allowed one that with the fewest units left; the first
    /// in the document if there are several.
    pub fn speaker(&self) -> Option<&RuleDecision> {
        self.speaker.map(|at| &self.checks[at])
    }

    /// The rules whose `soft` fraction an allowed request has reached.
    pub(crate) fn soft(&self) -> impl Iterator<Item = &RuleDecision> {
        let checks = if self.level == Level::Soft { &self.checks[..] } else { &[] };
        checks.iter().filter(|check| check.is_soft())
    }

    /// The rules that refused, in the order of the document.
    pub fn denied(&self) -> impl Iterator<Item = &RuleDecision> {
        self.checks.iter().filter(|check| !check.allowed)
    }

    /// The smallest wait after which the same call would pass: zero if it did, `None` if no wait helps.
    pub fn retry_after(&self) -> Option<Duration> {
        self.speaker().map_or(Some(Duration::ZERO), |speaker| speaker.retry_after)
    }

    /// Who decided for the [speaker](Decision::speaker); the rules themselves if none applies.
    pub fn source(&self) -> Source {
        self.speaker().map_or(Source::Rule, |speaker| speaker.source)
    }

    /// How long the request should be held so that the output keeps the rate of every leaky bucket that it passed.
    pub fn delay(&self) -> Duration {
        self.checks.iter().map(|check| check.delay).max().unwrap_or_default()
    }

    /// The slots that are held for this request. Keep a clone of it until the response has ended, its body included;
    /// they are released when the last clone, and this decision, are dropped.
    pub fn held(&self) -> &Held {
        &self.held
    }
}

impl RuleDecision {
    /// What the rule counts this request under.
    pub fn key(&self) -> &Key {
        &self.key
    }

    fn say(&self) -> Say {
        let RuleDecision { allowed, remaining, retry_after, .. } = *self;
        Say { allowed, remaining, retry_after }
    }

    /// Whether the rule's `soft` fraction of its ceiling is used.
    fn is_soft(&self) -> bool {
        // By this decision's own ceiling: the fallback's is a share of the rule's.
        self.rule.soft().is_some_and(|soft| soft.is_reached(self.limit.saturating_sub(self.remaining), self.limit))
    }
}
