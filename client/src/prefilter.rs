//! The pre-filter: what this gateway alone has let pass under a rule is enough to refuse a hot key without asking.
//!
//! For rules that ask for it. Each gateway counts, under the whole limit, what the store has admitted here. Everybody's
//! count is at least that, so if this one alone would refuse a call, the store would. The store is spared the question;
//! unlike the deny cache, which needs a refusal first and forgets it after a second, this holds for as long as the key is
//! hot.
//!
//! The clocks of store and gateway have to agree about when a window ends: for as long as they do not, a key may wait.

use tallyring_engine::{Ask, Decision, Timestamp, UNITS_MAX};

use crate::fallback::{Fallback, Whose};

/// This gateway's own counts under the whole limits.
#[derive(Debug)]
pub(crate) struct Prefilter(Fallback);

impl Prefilter {
    /// One that holds at most about `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Prefilter {
        Prefilter(Fallback::of_whole_limits(bytes_max))
    }

    /// The refusal of a call that this gateway's own count is enough to refuse. Nothing is charged.
    pub(crate) fn refuses(&self, now: Timestamp, whose: Whose<'_>, ask: Ask) -> Option<Decision> {
        let keep = ask.cost.saturating_add(ask.keep).min(UNITS_MAX);
        if ask.force || keep == 0 {
            return None;
        }
        let decision = self.0.look(now, whose, Ask { cost: 0, keep, force: false });
        Some(decision).filter(|decision| !decision.allowed)
    }

    /// Charges what the store has admitted.
    pub(crate) fn charge(&self, now: Timestamp, whose: Whose<'_>, units: u64) {
        self.0.charge(now, whose, units);
    }

    /// Gives units back.
    pub(crate) fn refund(&self, now: Timestamp, whose: Whose<'_>, units: u64) {
        self.0.refund(now, whose, units);
    }

    /// Forgets what was admitted.
    pub(crate) fn reset(&self, now: Timestamp, whose: Whose<'_>) {
        self.0.reset(now, whose);
    }
}
