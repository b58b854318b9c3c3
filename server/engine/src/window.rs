//! Where fixed windows end: multiples of a period, or the calendar's days, weeks and months in UTC.
//!
//! A window is known by its end alone. Ends are never before the epoch, which starts are: the epoch was a Thursday.

use crate::limit::{Calendar, Limit, Period};
use crate::time::Timestamp;

const DAY_US: u64 = 86_400 * 1_000_000;
/// Days from the Monday before the epoch to the epoch, a Thursday.
const EPOCH_WEEKDAY: u64 = 3;

/// The end of the window that `at` lies in, in microseconds since the epoch: the first instant that is not in it.
pub(crate) fn end_us(limit: &Limit, at: Timestamp) -> u64 {
    let at_us = at.as_micros();
    match limit.period() {
        Period::Micros(period_us) => (at_us / period_us + 1) * period_us,
        Period::Calendar(Calendar::Day) => (at_us / DAY_US + 1) * DAY_US,
        Period::Calendar(Calendar::Week) => (end_of_week(at_us / DAY_US)) * DAY_US,
        Period::Calendar(Calendar::Month) => end_of_month(at_us / DAY_US) * DAY_US,
    }
}

/// The next Monday after `day`, both as days since the epoch.
fn end_of_week(day: u64) -> u64 {
    day + 7 - (day + EPOCH_WEEKDAY) % 7
}

/// The first day of the month after `day`'s, both as days since the epoch.
fn end_of_month(day: u64) -> u64 {
    let year = year_of(day);
    let mut first = first_day(year);
    for month_days in month_lengths(year) {
        first += month_days;
        if day < first {
            return first;
        }
    }
    unreachable!("a day lies in one of its year's months")
}

/// The Gregorian year that `day` lies in: a guess that is never late and at most one early, then put right.
fn year_of(day: u64) -> u64 {
    let guess = 1970 + day * 400 / DAYS_IN_400_YEARS;
    match first_day(guess) {
        first if first > day => guess - 1,
        _ if first_day(guess + 1) <= day => guess + 1,
        _ => guess,
    }
}

const DAYS_IN_400_YEARS: u64 = 400 * 365 + 97;

/// New Year's day of a year from 1970 on, as days since the epoch.
fn first_day(year: u64) -> u64 {
    let leap_days_until = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leap_days_until(year - 1) - leap_days_until(1969)
}

fn month_lengths(year: u64) -> [u64; 12] {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Algorithm;

    fn check(period: Period, at_us: u64, expect_us: u64) {
        let limit = Limit::new(Algorithm::FixedWindow, 1, period, None).unwrap();
        assert_eq!(end_us(&limit, Timestamp::from_micros(at_us)), expect_us, "{period:?} at {at_us}");
    }

    #[test]
    fn a_window_ends_with_the_instant_before_its_end() {
        check(Period::Micros(10), 0, 10);
        check(Period::Micros(10), 9, 10);
        check(Period::Micros(10), 10, 20);
        check(Period::Micros(1), (1 << 53) - 1, 1 << 53);
    }

    #[test]
    fn calendars_end_at_midnight_utc() {
        use Calendar::*;
        for (calendar, at_day, expect_day) in [
            (Day, 0, 1),
            (Week, 0, 4),            // Thursday 1970-01-01 → Monday 1970-01-05
            (Week, 3, 4),            // Sunday
            (Week, 4, 11),           // Monday
            (Month, 0, 31),          // 1970-01-01 → 1970-02-01
            (Month, 58, 59),         // 1970-02-28 → 1970-03-01
            (Month, 364, 365),       // 1970-12-31 → 1971-01-01
            (Month, 789, 790),       // 1972-02-29 → 1972-03-01
            (Month, 11_016, 11_017), // 2000-02-29 → 2000-03-01
            (Month, 47_540, 47_541), // 2100-02-28 → 2100-03-01: no leap day
        ] {
            let period = Period::Calendar(calendar);
            check(period, at_day * DAY_US, expect_day * DAY_US);
            check(period, (at_day + 1) * DAY_US - 1, expect_day * DAY_US);
        }
    }

    #[test]
    fn years_and_months_follow_each_other_without_a_gap() {
        let mut day = 0;
        for year in 1970..2300 {
            assert_eq!(first_day(year), day);
            for month_days in month_lengths(year) {
                assert_eq!((year_of(day), end_of_month(day)), (year, day + month_days));
                day += month_days;
                assert_eq!((year_of(day - 1), end_of_month(day - 1)), (year, day));
            }
        }
    }
}
