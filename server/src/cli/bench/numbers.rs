//! The limits that a benchmark asks under: the same numbers for every target.

use tallyring_engine::{Algorithm, Limit, PERIOD_US_MAX, Period};

use super::mix::Mix;

const HOUR_US: u64 = 3_600_000_000;

/// Units of an account under load.
const LOAD_UNITS: u64 = 1_000;

/// Units of an account where admissions are counted.
const EXACT_UNITS: u64 = 10;

/// One account of this many is emptied before the load begins: the last one of each such row.
pub(super) const EMPTIED_ONE_IN: u32 = 4;

/// Under load: buckets gain a unit an hour, windows end after weeks. So an account that was emptied stays empty, one that
/// was not stays far from empty, and the share of denied calls is the same for a fast target as for a slow one.
///
/// Where some accounts are hot they have as many units as there can be, or a fast target would empty more of them.
pub(super) fn load(algorithm: Algorithm, mix: Mix) -> Limit {
    let units = if mix == Mix::Uniform { LOAD_UNITS } else { algorithm.limit_max() };
    numbers(algorithm, units, HOUR_US)
}

/// Where admissions are counted: no unit comes back in a year, so the exact number is known beforehand.
pub(super) fn exact(algorithm: Algorithm) -> Limit {
    numbers(algorithm, EXACT_UNITS, PERIOD_US_MAX)
}

fn numbers(algorithm: Algorithm, units: u64, refill_us: u64) -> Limit {
    let limit = match algorithm.has_burst() {
        true => Limit::new(algorithm, 1, Period::Micros(refill_us), Some(units)),
        false => Limit::new(algorithm, units, Period::Micros(PERIOD_US_MAX), None),
    };
    limit.expect("the units are within the algorithm's bound")
}

/// The length of a limit's period; a benchmark asks under no calendar.
pub(super) fn period_us(limit: &Limit) -> u64 {
    match limit.period() {
        Period::Micros(us) => us,
        Period::Calendar(_) => unreachable!("a benchmark's periods are lengths"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_the_same_units() {
        for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Concurrency) {
            assert_eq!(load(algorithm, Mix::Uniform).ceiling(), LOAD_UNITS, "{algorithm:?}");
            assert_eq!(exact(algorithm).ceiling(), EXACT_UNITS, "{algorithm:?}");
            assert_eq!(load(algorithm, Mix::Hot).ceiling(), algorithm.limit_max(), "{algorithm:?}");
        }
    }
}
