//! What a rule counts by: an algorithm and its numbers.

use crate::code::AlgorithmCode;
use crate::request::PeriodCode;

/// The largest limit and burst, in units.
pub const UNITS_MAX: u64 = 1_000_000_000_000;
/// The longest window: 400 days, in microseconds.
pub const WINDOW_US_MAX: u64 = 400 * DAY_US;
/// The largest limit of a sliding log, which keeps every admitted instant.
pub const LOG_UNITS_MAX: u64 = 100_000;

const SECOND_US: u64 = 1_000_000;
/// A day, in microseconds.
pub(crate) const DAY_US: u64 = 86_400 * SECOND_US;

/// The numbers of a limit, known to be within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    /// How units are counted.
    pub algorithm: AlgorithmCode,
    /// Units a period; slots of a `concurrency` rule.
    pub limit: u64,
    /// The period; of a `concurrency` rule the longest that a slot is held.
    pub period: PeriodCode,
    /// Ceiling of a bucket; 0 = none given.
    pub burst: u64,
}

impl Numbers {
    /// The most units that one call can get: a bucket's burst if it has one, else the limit.
    pub const fn ceiling(&self) -> u64 {
        if self.burst > 0 { self.burst } else { self.limit }
    }
}

/// Names of algorithms as rules write them. `gcra` is `token_bucket`.
const ALGORITHMS: [(&str, AlgorithmCode); 7] = [
    ("token_bucket", AlgorithmCode::TokenBucket),
    ("gcra", AlgorithmCode::TokenBucket),
    ("leaky_bucket", AlgorithmCode::LeakyBucket),
    ("fixed_window", AlgorithmCode::FixedWindow),
    ("sliding_log", AlgorithmCode::SlidingLog),
    ("sliding_counter", AlgorithmCode::SlidingCounter),
    ("concurrency", AlgorithmCode::Concurrency),
];

/// The algorithm of that name.
pub fn algorithm_from_name(name: &str) -> Option<AlgorithmCode> {
    ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
}

/// The name of an algorithm in rules.
pub fn algorithm_name(algorithm: AlgorithmCode) -> &'static str {
    ALGORITHMS.iter().find(|(_, known)| *known == algorithm).map(|(name, _)| *name).expect("every algorithm has a name")
}

/// Whether an algorithm's size may differ from its rate.
pub(crate) fn has_burst(algorithm: AlgorithmCode) -> bool {
    matches!(algorithm, AlgorithmCode::TokenBucket | AlgorithmCode::LeakyBucket)
}

/// The largest limit of an algorithm.
pub(crate) fn limit_max(algorithm: AlgorithmCode) -> u64 {
    if algorithm == AlgorithmCode::SlidingLog { LOG_UNITS_MAX } else { UNITS_MAX }
}

const UNITS: [(&str, u64); 7] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", SECOND_US),
    ("m", 60 * SECOND_US),
    ("h", 3_600 * SECOND_US),
    ("d", DAY_US),
    ("w", 7 * DAY_US),
];

/// A window in microseconds: a whole number and its unit, `500ms`, `60s`, `1m`, `1h`, `1d`, `1w`.
///
/// # Errors
/// What is allowed, in words.
pub(crate) fn window_us(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit_us = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, us)| *us);
    let (Some(unit_us), false) = (unit_us, number.is_empty()) else {
        return Err(format!("{text:?} is no window: a whole number and us, ms, s, m, h, d or w, like \"60s\""));
    };
    let us = number.parse().ok().and_then(|number: u64| number.checked_mul(unit_us));
    us.filter(|us| (1..=WINDOW_US_MAX).contains(us))
        .ok_or_else(|| format!("{text:?} is out of bounds: a window is longer than nothing and at most 400d"))
}

/// The calendar windows of that name, in UTC.
pub(crate) fn calendar(name: &str) -> Option<PeriodCode> {
    match name {
        "day" => Some(PeriodCode::Day),
        "week" => Some(PeriodCode::Week),
        "month" => Some(PeriodCode::Month),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_a_number_and_its_unit() {
        let check = |text: &str, us: u64| assert_eq!(window_us(text), Ok(us), "{text}");
        check("1us", 1);
        check("500ms", 500_000);
        check("60s", 60 * SECOND_US);
        check("1m", 60 * SECOND_US);
        check("1h", 3_600 * SECOND_US);
        check("1d", DAY_US);
        check("2w", 14 * DAY_US);
        check("400d", WINDOW_US_MAX);
    }

    #[test]
    fn anything_else_is_no_window() {
        for text in ["", "60", "s", "1 s", " 1s", "1S", "1.5h", "-1s", "1min", "1h30m", "1M", "½s"] {
            assert!(window_us(text).unwrap_err().contains("is no window"), "{text}");
        }
        for text in ["0s", "401d", "99999999999999999999s", "18446744073709551615w"] {
            assert!(window_us(text).unwrap_err().contains("400d"), "{text}");
        }
    }

    #[test]
    fn every_algorithm_is_found_by_its_name() {
        for algorithm in AlgorithmCode::ALL {
            assert_eq!(algorithm_from_name(algorithm_name(algorithm)), Some(algorithm));
        }
        assert_eq!(algorithm_from_name("gcra"), Some(AlgorithmCode::TokenBucket));
        assert_eq!(algorithm_from_name("GCRA"), None);
    }
}
