//! One gateway's share of a limit.

use tallyring_engine::{Algorithm, Calendar, Limit, Period};

const DAY_US: u64 = 86_400 * 1_000_000;

/// Windows from here on are not shared as windows: an hour in microseconds.
///
/// While the store is gone nobody knows how much of a long budget was used before. A bucket of the same rate, with a
/// small burst, keeps customers running through an outage and cannot spend a day's budget in a minute.
const LONG_WINDOW_US: u64 = 3_600 * 1_000_000;

/// The part of a long budget that may be used at once.
const LONG_BURST_DIVISOR: u64 = 20;

/// What one of `gateways` equal gateways may admit: an equal part of the limit, at least 1. Slots stay slots, however
/// long they are held.
pub(crate) fn share(limit: Limit, gateways: u32) -> Limit {
    let part = |units: u64| (units / u64::from(gateways.max(1))).max(1);
    let period_us = period_us(limit.period());
    let stays = period_us < LONG_WINDOW_US || limit.algorithm() == Algorithm::Concurrency;
    let (algorithm, burst) = if stays {
        (limit.algorithm(), limit.burst().map(part))
    } else {
        let burst = (part(limit.limit()) / LONG_BURST_DIVISOR).clamp(1, part(limit.ceiling()));
        (Algorithm::TokenBucket, Some(burst))
    };
    Limit::new(algorithm, part(limit.limit()), Period::Micros(period_us), burst)
        .expect("parts of a good limit, at least 1, are good")
}

/// A period's length in microseconds; the longest that a calendar's can be, so that the rate is never too high.
pub(crate) fn period_us(period: Period) -> u64 {
    match period {
        Period::Micros(micros) => micros,
        Period::Calendar(Calendar::Day) => DAY_US,
        Period::Calendar(Calendar::Week) => 7 * DAY_US,
        Period::Calendar(Calendar::Month) => 31 * DAY_US,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Period = Period::Micros(60_000_000);
    const HOUR: Period = Period::Micros(LONG_WINDOW_US);

    fn check(whole: (Algorithm, u64, Period, Option<u64>), gateways: u32, part: (Algorithm, u64, Period, Option<u64>)) {
        let limit = |(algorithm, limit, period, burst)| Limit::new(algorithm, limit, period, burst).unwrap();
        assert_eq!(share(limit(whole), gateways), limit(part), "{whole:?} / {gateways}");
    }

    #[test]
    fn a_short_limit_is_divided_as_it_is() {
        use Algorithm::*;
        check((TokenBucket, 300, MINUTE, Some(100)), 4, (TokenBucket, 75, MINUTE, Some(25)));
        check((FixedWindow, 7, MINUTE, None), 2, (FixedWindow, 3, MINUTE, None));
        check((SlidingLog, 1_000, MINUTE, None), 1, (SlidingLog, 1_000, MINUTE, None));
    }

    #[test]
    fn a_share_is_at_least_one() {
        use Algorithm::*;
        check((SlidingCounter, 3, MINUTE, None), 10, (SlidingCounter, 1, MINUTE, None));
        check((LeakyBucket, 3, MINUTE, Some(2)), 10, (LeakyBucket, 1, MINUTE, Some(1)));
        check((FixedWindow, 5, HOUR, None), 10, (TokenBucket, 1, HOUR, Some(1)));
    }

    #[test]
    fn no_gateways_count_as_one() {
        check((Algorithm::FixedWindow, 5, MINUTE, None), 0, (Algorithm::FixedWindow, 5, MINUTE, None));
    }

    #[test]
    fn a_long_budget_becomes_a_bucket_of_its_rate() {
        use Algorithm::*;
        check((FixedWindow, 1_000, HOUR, None), 2, (TokenBucket, 500, HOUR, Some(25)));
        check((SlidingLog, 1_000, HOUR, None), 1, (TokenBucket, 1_000, HOUR, Some(50)));
        check((TokenBucket, 1_000, HOUR, Some(10)), 1, (TokenBucket, 1_000, HOUR, Some(10)));
        let month = Period::Calendar(Calendar::Month);
        check((FixedWindow, 1_000, month, None), 1, (TokenBucket, 1_000, Period::Micros(31 * DAY_US), Some(50)));
    }
}
