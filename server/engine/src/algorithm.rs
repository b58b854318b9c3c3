//! The algorithms, each as a budget that stands at one instant under one limit.
//!
//! A counter's state is two words in the table. [`Counter::load`] brings it to the present, a [`Budget`] answers from
//! there, and [`Counter::store`] gives the words back. So accrual, ageing and rolling are written once an algorithm, and
//! the decision below once for all of them.

pub(crate) mod any;
pub(crate) mod concurrency;
mod counts;
pub(crate) mod fixed_window;
pub(crate) mod leaky_bucket;
pub(crate) mod sliding_counter;
pub(crate) mod sliding_log;
pub(crate) mod token_bucket;
mod words;

pub(crate) use self::words::Words;

use crate::decision::{Decision, Wait};
use crate::limit::{Algorithm, Ask, Limit};
use crate::side::Side;
use crate::time::Timestamp;

/// What is left at one instant. Nothing here changes with time: a later instant is another budget.
pub(crate) trait Budget {
    /// The most that there can ever be.
    fn ceiling(&self) -> u64;
    /// Whole units left, rounded down, never below zero.
    fn remaining(&self) -> u64;
    /// Whether `units` are there to be taken; `units` may be anything up to twice the largest cost.
    fn fits(&self, units: u64) -> bool;
    /// The smallest wait, in microseconds, after which `units` fit. They do not now, and they do not exceed the ceiling.
    fn wait_until_fits(&self, units: u64) -> u128;
    /// The smallest wait, in microseconds, until nothing is missing.
    fn wait_until_whole(&self) -> u128;
    /// Takes `units`, at least one; they are there.
    fn charge(&mut self, units: u64);
    /// How long a request charged now is held back; `None` where requests are never held.
    fn delay_us(&self) -> Option<u128> {
        None
    }
}

/// A budget that the table can keep.
///
/// What [`load`](Counter::load) gave ends in exactly one of [`leave`](Counter::leave), if nothing is to change,
/// [`store`](Counter::store), or [`free`]: state that is kept aside is taken out meanwhile, not copied.
pub(crate) trait Counter: Budget + Sized {
    /// The state of a key that nobody has used.
    fn whole(limit: &Limit, now: Timestamp) -> Self;
    /// The stored state, brought to `now` under the numbers it was stored with.
    fn load(words: Words, limit: &Limit, now: Timestamp, side: &mut Side) -> Self;
    /// Leaves the state as it was stored: `words` are those that were loaded.
    fn leave(self, _words: Words, _side: &mut Side) {}
    /// Keeps the state, in place of what was loaded from `before`.
    fn store(self, before: Option<Words>, side: &mut Side) -> Words;
    /// The same state under other numbers.
    fn convert(self, to: &Limit) -> Self;
    /// Gives back units that were charged at `charged_at`, or lately if that is not known; never past whole.
    fn refund(&mut self, units: u64, charged_at: Option<Timestamp>);
    /// Charges units that were used since `charged_at`, there or not: a bucket goes into debt.
    fn charge_late(&mut self, units: u64, charged_at: Timestamp);
    /// Whether it takes more memory the more it counts.
    fn grows(&self) -> bool {
        false
    }
    /// Whether nothing is missing: then this is the state of a key that nobody has used.
    fn is_whole(&self) -> bool {
        self.wait_until_whole() == 0
    }
    /// The first microsecond, after `now` where the budget stands, at which nothing is missing.
    fn whole_at_us(&self, now: Timestamp) -> u64 {
        u64::try_from(self.wait_until_whole()).map_or(u64::MAX, |wait_us| wait_us.saturating_add(now.as_micros()))
    }
}

/// Frees what an entry of `algorithm` keeps aside.
pub(crate) fn free(algorithm: Algorithm, words: Words, side: &mut Side) {
    match algorithm {
        Algorithm::SlidingLog => sliding_log::SlidingLog::free(words, side),
        Algorithm::FixedWindow | Algorithm::SlidingCounter => counts::Counts::free(words, side),
        Algorithm::Concurrency => concurrency::Holders::free(words, side),
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {}
    }
}

/// A decision, and the units that were charged for it.
pub(crate) struct Verdict {
    pub(crate) decision: Decision,
    pub(crate) charged: u64,
}

/// Decides one call and charges it, in this order of meaning: forced, fitting, not now, never.
#[inline(always)]
pub(crate) fn decide(budget: &mut impl Budget, ask: Ask) -> Verdict {
    let wanted = ask.cost + ask.keep;
    let allowed = ask.force || budget.fits(wanted);
    let charged = match (allowed, ask.force) {
        (false, _) => 0,
        (true, true) => ask.cost.min(budget.remaining()),
        (true, false) => ask.cost,
    };
    let retry_after = match allowed {
        true => Wait::NOW,
        false if wanted > budget.ceiling() => Wait::Never,
        false => Wait::Micros(budget.wait_until_fits(wanted)),
    };
    let holds = allowed && !ask.is_peek();
    let delay_us = budget.delay_us().map(|delay_us| if holds { delay_us } else { 0 });
    if charged > 0 {
        budget.charge(charged);
    }
    let decision = Decision {
        allowed,
        limit: budget.ceiling(),
        remaining: budget.remaining(),
        retry_after,
        reset_after_us: budget.wait_until_whole(),
        charged: ask.force.then_some(charged),
        delay_us,
    };
    Verdict { decision, charged }
}
