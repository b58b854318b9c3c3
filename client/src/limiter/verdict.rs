//! What one rule came to in one call, before the whole is decided.

use std::time::Duration;

use tallyring_engine::{Ask, Limit, Slots, Wait, saturating_us};
use tallyring_protocol::Key;
use tallyring_protocol::bounds::WAIT_NEVER_US;

use crate::decision::{RuleDecision, RuleRef, Source};
use crate::deny_cache::Refusal;
use crate::grants::Spent as GrantSpent;
use crate::permit::Hold;
use crate::reservation::Reservation;
use crate::{StoreDecision, StoreSlots};

/// When to try again while the store is gone and the mode is to deny: about the time that a failover takes.
const RETRY_WHEN_GONE: Duration = Duration::from_secs(1);

/// One rule's answer, and what it cost.
#[derive(Debug)]
pub(super) struct Verdict {
    /// Whether this rule lets the call pass.
    pub(super) allowed: bool,
    /// Whether there is an answer at all: a rule that was only looked at may have none.
    pub(super) is_known: bool,
    /// Who decided.
    pub(super) source: Source,
    limit: u64,
    remaining: u64,
    retry_after: Option<Duration>,
    reset_after: Duration,
    delay: Duration,
    charged_at_us: Option<u64>,
    units: u64,
    spent: Spent,
}

/// What has to be undone if another rule denies.
#[derive(Debug)]
pub(super) enum Spent {
    /// Nothing was charged.
    Nothing,
    /// The store has charged it.
    Store { units: u64, at_us: u64 },
    /// The store has charged an estimate.
    Reserved(Box<Reservation>),
    /// It was paid out of a grant.
    Grant { units: u64 },
    /// The fallback has charged it.
    Local { units: u64 },
}

impl Verdict {
    /// A refusal, to be filled in.
    const REFUSAL: Verdict = Verdict {
        allowed: false,
        is_known: true,
        source: Source::Rule,
        limit: 0,
        remaining: 0,
        retry_after: None,
        reset_after: Duration::ZERO,
        delay: Duration::ZERO,
        charged_at_us: None,
        units: 0,
        spent: Spent::Nothing,
    };

    /// Of a rule that blocks.
    pub(super) fn blocked() -> Verdict {
        Verdict::REFUSAL
    }

    /// Of a rule that was looked at in vain.
    pub(super) fn unknown() -> Verdict {
        Verdict { allowed: true, is_known: false, ..Verdict::REFUSAL }
    }

    /// Of a rule whose mode is to deny without a store.
    pub(super) fn denied_by_mode(limit: u64) -> Verdict {
        let (source, reset_after) = (Source::Mode, RETRY_WHEN_GONE);
        Verdict { source, limit, retry_after: Some(RETRY_WHEN_GONE), reset_after, ..Verdict::REFUSAL }
    }

    /// Of a refusal that still holds.
    pub(super) fn refused(limit: u64, ask: Ask, refusal: &Refusal) -> Verdict {
        // What was refused before may have needed less: this call may need more than there can ever be.
        let fits = ask.cost.saturating_add(ask.keep) <= limit;
        Verdict {
            source: Source::DenyCache,
            limit,
            remaining: refusal.remaining,
            retry_after: refusal.retry_after_us.filter(|_| fits).map(Duration::from_micros),
            reset_after: Duration::from_micros(refusal.reset_after_us),
            ..Verdict::REFUSAL
        }
    }

    /// Of this gateway's own count, which alone is over the limit.
    pub(super) fn prefiltered(decision: &tallyring_engine::Decision) -> Verdict {
        Verdict { source: Source::Prefilter, ..Verdict::of_engine(decision) }
    }

    /// Of a grant.
    pub(super) fn granted(limit: u64, units: u64, left: GrantSpent) -> Verdict {
        Verdict {
            allowed: true,
            source: Source::Grant,
            limit,
            remaining: left.remaining,
            retry_after: Some(Duration::ZERO),
            reset_after: Duration::from_micros(left.reset_after_us),
            units,
            spent: Spent::Grant { units },
            ..Verdict::REFUSAL
        }
    }

    /// Of the store.
    pub(super) fn of_store(limit: Limit, decision: &StoreDecision, spent: Spent, units: u64) -> Verdict {
        Verdict {
            allowed: decision.allowed,
            source: Source::Store,
            limit: limit.ceiling(),
            remaining: decision.remaining,
            retry_after: wait(decision.retry_after_us),
            reset_after: Duration::from_micros(decision.reset_after_us),
            delay: Duration::from_micros(decision.delay_us.unwrap_or(0)),
            charged_at_us: matches!(spent, Spent::Store { .. }).then_some(decision.at_us),
            units,
            spent,
            ..Verdict::REFUSAL
        }
    }

    /// Of the fallback.
    pub(super) fn of_fallback(decision: &tallyring_engine::Decision, units: u64) -> Verdict {
        let spent = if units > 0 { Spent::Local { units } } else { Spent::Nothing };
        Verdict { source: Source::Fallback, units, spent, ..Verdict::of_engine(decision) }
    }

    /// Of the store, about slots.
    pub(super) fn of_slots(hold: &Hold, slots: &StoreSlots) -> Verdict {
        Verdict {
            allowed: slots.allowed,
            source: Source::Store,
            limit: hold.limit,
            remaining: hold.limit.saturating_sub(slots.in_use),
            retry_after: wait(slots.retry_after_us),
            // At the latest: slots come back when their holders are done.
            reset_after: if slots.in_use > 0 { hold.ttl } else { Duration::ZERO },
            ..Verdict::REFUSAL
        }
    }

    /// Of the fallback, about slots.
    pub(super) fn of_local_slots(hold: &Hold, slots: &Slots) -> Verdict {
        Verdict {
            allowed: slots.allowed,
            source: Source::Fallback,
            limit: slots.limit,
            remaining: slots.limit.saturating_sub(slots.in_use),
            retry_after: duration(slots.retry_after),
            reset_after: if slots.in_use > 0 { hold.ttl } else { Duration::ZERO },
            ..Verdict::REFUSAL
        }
    }

    fn of_engine(decision: &tallyring_engine::Decision) -> Verdict {
        Verdict {
            allowed: decision.allowed,
            limit: decision.limit,
            remaining: decision.remaining,
            retry_after: duration(decision.retry_after),
            reset_after: Duration::from_micros(saturating_us(decision.reset_after_us)),
            delay: Duration::from_micros(saturating_us(decision.delay_us.unwrap_or(0))),
            ..Verdict::REFUSAL
        }
    }

    /// Units that are charged.
    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// Takes what was spent, to undo it.
    pub(super) fn take_spent(&mut self) -> Spent {
        (self.units, self.charged_at_us, self.delay) = (0, None, Duration::ZERO);
        std::mem::replace(&mut self.spent, Spent::Nothing)
    }

    /// Takes the reservation, to keep it.
    pub(super) fn take_reservation(&mut self) -> Option<Reservation> {
        match std::mem::replace(&mut self.spent, Spent::Nothing) {
            Spent::Reserved(reservation) => Some(*reservation),
            other => {
                self.spent = other;
                None
            }
        }
    }

    /// What is left now that the charge was undone.
    pub(super) fn left(&mut self, decision: &StoreDecision) {
        self.remaining = decision.remaining;
        self.reset_after = Duration::from_micros(decision.reset_after_us);
    }

    pub(super) fn into_decision(self, rule: RuleRef, key: Key, identity: u64) -> RuleDecision {
        let Verdict {
            allowed, source, limit, remaining, retry_after, reset_after, delay, charged_at_us, units, ..
        } = self;
        let charged = units;
        RuleDecision {
            rule,
            allowed,
            limit,
            remaining,
            retry_after,
            reset_after,
            delay,
            source,
            charged_at_us,
            charged,
            key,
            identity,
        }
    }
}

fn wait(wait_us: u64) -> Option<Duration> {
    (wait_us != WAIT_NEVER_US).then(|| Duration::from_micros(wait_us))
}

fn duration(wait: Wait) -> Option<Duration> {
    wait.saturating_us().map(Duration::from_micros)
}
