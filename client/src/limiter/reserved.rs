//! An estimate that was charged under every rule that applies, until it is known what was used.

use std::sync::Arc;

use super::Inner;
use crate::decision::{Decision, RuleDecision, Source};
use crate::error::StoreError;
use crate::reservation::Reservation;

/// A decision, and the units that it charged on an estimate.
///
/// Dropped without a [`settle`](Reserved::settle), as when a request is cancelled, it is settled in the background to what
/// was [noted](Reserved::note_used) last. If nothing was noted the estimate stands: a limiter rather counts too much than
/// too little.
///
/// ```no_run
/// # use tallyring_client::{Call, RateLimiter, StoreError};
/// # async fn example(limiter: RateLimiter, call: Call<'_>) -> Result<(), StoreError> {
/// let estimate = Call { cost: 800, ..call };
/// let mut reserved = limiter.reserve(&estimate, std::time::Duration::from_secs(60)).await;
/// if reserved.decision().allowed {
///     reserved.note_used(0); // whatever happens from here on, only what was used is paid
///     for chunk in [120, 90] {
///         reserved.note_used(reserved.used().unwrap_or(0) + chunk);
///     }
///     reserved.settle(210).await?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Reserved {
    inner: Arc<Inner>,
    decision: Decision,
    /// One a rule that the store decided.
    reservations: Vec<Reservation>,
    used: Option<u64>,
}

impl Reserved {
    pub(super) fn new(inner: &Arc<Inner>, decision: Decision, reservations: Vec<Reservation>) -> Reserved {
        Reserved { inner: Arc::clone(inner), decision, reservations, used: None }
    }

    /// What was decided when the estimate was charged.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Notes what was used so far, in all: what a drop settles to.
    pub fn note_used(&mut self, units: u64) {
        self.used = Some(units);
        self.reservations.iter_mut().for_each(|reservation| reservation.note_used(units));
    }

    /// What was noted last.
    pub fn used(&self) -> Option<u64> {
        self.used
    }

    /// Corrects the charge to what was used, under every rule. What fails, or is cancelled, goes on in the background.
    ///
    /// # Errors
    /// The first that the store had with one of the rules.
    pub async fn settle(mut self, actual: u64) -> Result<(), StoreError> {
        self.note_used(actual);
        let mut outcome = Ok(());
        for reservation in std::mem::take(&mut self.reservations) {
            outcome = outcome.and(reservation.settle(actual).await.map(drop));
        }
        outcome // and what was charged here is settled by the drop
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Some(used) = self.used.filter(|_| self.decision.allowed) else { return };
        self.decision.checks.iter().for_each(|check| self.inner.settle_here(check, used));
    }
}

impl Inner {
    /// Corrects what the local copies were charged under one rule.
    fn settle_here(&self, check: &RuleDecision, used: u64) {
        let (limited, charged) = (check.rule.limited(), check.charged);
        if used <= charged {
            return self.refund_here(check, charged - used);
        }
        let whose = self.whose(limited, check.identity);
        self.fallback.charge(self.now(), whose, used - charged);
        if check.source == Source::Fallback {
            self.arrears.owe(self.now(), check.identity, limited.handle(), &check.key, used - charged);
        }
    }
}
