//! What one rule came to, before the whole is decided, and what it cost.

use std::time::Duration;

use tallyring_protocol::bounds::WAIT_NEVER_US;
use tallyring_protocol::reply::{self, Slots};

use super::decision::RuleDecision;

/// One rule's answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    pub(super) spent: Spent,
    limit: u64,
    remaining: u64,
    retry_after: Option<Duration>,
    reset_after: Duration,
    delay: Option<Duration>,
    at_us: Option<u64>,
}

/// What has to be undone if another rule denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Nothing,
    /// Units, at an instant of the store's clock.
    Charged {
        units: u64,
        at_us: u64,
    },
    /// An estimate, under the call's id.
    Reserved,
    /// Slots, under the call's holder.
    Held,
}

impl Verdict {
    /// Of a rule that blocks.
    pub(super) const BLOCKED: Verdict = Verdict {
        allowed: false,
        spent: Spent::Nothing,
        limit: 0,
        remaining: 0,
        retry_after: None,
        reset_after: Duration::ZERO,
        delay: None,
        at_us: None,
    };

    /// Of a budget of so many units.
    pub(super) fn of_budget(ceiling: u64, decision: &reply::Decision, spent: Spent) -> Verdict {
        Verdict {
            allowed: decision.allowed,
            spent,
            limit: ceiling,
            remaining: decision.remaining,
            retry_after: wait(decision.retry_after_us),
            reset_after: Duration::from_micros(decision.reset_after_us),
            delay: decision.delay_us.map(Duration::from_micros),
            at_us: Some(decision.at_us),
        }
    }

    /// Of so many slots, each held for `ttl` at most.
    pub(super) fn of_slots(limit: u64, ttl: Duration, slots: &Slots) -> Verdict {
        Verdict {
            allowed: slots.allowed,
            spent: if slots.allowed { Spent::Held } else { Spent::Nothing },
            limit,
            remaining: limit.saturating_sub(slots.in_use),
            retry_after: wait(slots.retry_after_us),
            // At the latest: slots come back when their holders are done.
            reset_after: if slots.in_use > 0 { ttl } else { Duration::ZERO },
            delay: None,
            at_us: Some(slots.at_us),
        }
    }

    /// Of slots that were only looked at.
    pub(super) fn of_look(limit: u64, remaining: u64, reset_after: Duration) -> Verdict {
        Verdict { allowed: true, limit, remaining, retry_after: Some(Duration::ZERO), reset_after, ..Verdict::BLOCKED }
    }

    /// What is left now that the charge was undone.
    pub(super) fn undone(&mut self, remaining: u64, reset_after_us: u64) {
        self.spent = Spent::Nothing;
        self.remaining = remaining;
        self.reset_after = Duration::from_micros(reset_after_us);
        self.delay = self.delay.map(|_| Duration::ZERO);
    }

    pub(super) fn at_us(&self) -> Option<u64> {
        self.at_us
    }

    pub(super) fn decision(&self, order: usize) -> RuleDecision {
        let Verdict { allowed, limit, remaining, retry_after, reset_after, delay, .. } = *self;
        RuleDecision { order, allowed, limit, remaining, retry_after, reset_after, delay }
    }
}

fn wait(us: u64) -> Option<Duration> {
    (us != WAIT_NEVER_US).then(|| Duration::from_micros(us))
}
