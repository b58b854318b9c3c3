//! What has been used of a limit: one trait for all algorithms, and what a wait means.
//!
//! An algorithm only says how much room it has at an instant. That a call passes when there is room, and that a wait is
//! the first microsecond at which there is, is the same for all of them and said once, here.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;

use super::bucket::Bucket;
use super::fixed_window::FixedWindow;
use super::limit::{Algorithm, Limit};
use super::sliding_counter::SlidingCounter;
use super::sliding_log::SlidingLog;
use super::{Micros, Units};

/// No wait is longer: 2·10^12 tokens at one in 400 days take under 2^86 microseconds.
const WAIT_US_MAX: Micros = 1 << 90;

/// The units used of a limit as of one instant.
///
/// If nothing is charged, room never shrinks as time passes: [`wait_for`] searches by that.
pub(super) trait Usage {
    /// The same usage at a later instant, if nothing else came.
    fn aged(&self, limit: &Limit, to_us: Micros) -> Box<dyn Usage>;

    /// Units that could be charged at this instant; in debt it is negative.
    fn room(&self, limit: &Limit) -> BigRational;

    /// What remains of this usage when `from` becomes `to` at this instant.
    fn converted(&self, from: &Limit, to: &Limit) -> Box<dyn Usage>;

    /// Adds `units` at this instant.
    fn charge(&mut self, units: Units);

    /// Takes `units` away again (below 0: charges them more), where they were charged or else where the newest are.
    fn give_back(&mut self, limit: &Limit, units: Units, charged_at_us: Option<Micros>);

    /// The instant that this usage describes.
    fn now_us(&self) -> Micros;

    /// A copy.
    fn boxed(&self) -> Box<dyn Usage>;
}

/// A limit of which nothing was ever used.
pub(super) fn fresh(limit: &Limit, now_us: Micros) -> Box<dyn Usage> {
    match limit.algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => Box::new(Bucket::full(limit, now_us)),
        Algorithm::FixedWindow => Box::new(FixedWindow::unused(now_us)),
        Algorithm::SlidingLog => Box::new(SlidingLog::unused(now_us)),
        Algorithm::SlidingCounter => Box::new(SlidingCounter::unused(now_us)),
    }
}

/// Whole units that are left: rounded down, never below 0.
pub(super) fn remaining(usage: &dyn Usage, limit: &Limit) -> Units {
    whole(&usage.room(limit).floor()).max(0)
}

/// Whether the whole budget is free.
pub(super) fn is_whole(usage: &dyn Usage, limit: &Limit) -> bool {
    usage.room(limit) >= rational(limit.ceiling())
}

/// The smallest wait after which there is room for `units`, which must not be over the ceiling, if nothing else came.
pub(super) fn wait_for(usage: &dyn Usage, limit: &Limit, units: Units) -> Micros {
    let units = rational(units);
    let fits_after = |wait_us| usage.aged(limit, usage.now_us() + wait_us).room(limit) >= units;
    if fits_after(0) {
        return 0;
    }
    let mut enough_us = 1;
    while !fits_after(enough_us) {
        enough_us *= 2;
        assert!(enough_us < WAIT_US_MAX, "whatever is under the ceiling fits one day");
    }
    let mut short_us = enough_us / 2;
    while enough_us - short_us > 1 {
        let middle_us = short_us + (enough_us - short_us) / 2;
        if fits_after(middle_us) { enough_us = middle_us } else { short_us = middle_us }
    }
    enough_us
}

/// The smallest wait after which the whole budget is free again.
pub(super) fn reset_after(usage: &dyn Usage, limit: &Limit) -> Micros {
    wait_for(usage, limit, limit.ceiling())
}

/// An integer among the rationals.
pub(super) fn rational(integer: i128) -> BigRational {
    BigRational::from_integer(BigInt::from(integer))
}

/// The exact quotient of two integers.
pub(super) fn ratio(numerator: i128, denominator: i128) -> BigRational {
    BigRational::new(BigInt::from(numerator), BigInt::from(denominator))
}

/// The integer that an integral rational is.
pub(super) fn whole(integral: &BigRational) -> i128 {
    assert!(integral.is_integer(), "{integral} has a fraction");
    integral.numer().to_i128().expect("units and microseconds are far below 2^127")
}
