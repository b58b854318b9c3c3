//! Days, weeks and months of UTC, by counting days off one by one from the epoch.

use std::ops::Range;

use super::Micros;

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// The epoch was a Thursday: its week began three days before it.
const EPOCH_DAYS_AFTER_MONDAY: Micros = 3;

/// A window that people name instead of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calendar {
    Day,
    Week,
    Month,
}

impl Calendar {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "day" => Some(Self::Day),
            "week" => Some(Self::Week),
            "month" => Some(Self::Month),
            _ => None,
        }
    }
}

/// The day, week (from Monday) or month that holds the instant `t_us`, as microseconds.
pub(super) fn window_at(calendar: Calendar, t_us: Micros) -> Range<Micros> {
    let day = t_us.div_euclid(DAY_US);
    let days = match calendar {
        Calendar::Day => day..day + 1,
        Calendar::Week => week_of(day),
        Calendar::Month => month_of(day),
    };
    days.start * DAY_US..days.end * DAY_US
}

fn week_of(day: Micros) -> Range<Micros> {
    let monday = day - (day + EPOCH_DAYS_AFTER_MONDAY).rem_euclid(7);
    monday..monday + 7
}

fn month_of(day: Micros) -> Range<Micros> {
    let (mut first, mut year) = (0, 1970);
    while first + days_in_year(year) <= day {
        first += days_in_year(year);
        year += 1;
    }
    for month in 1..=12 {
        let next = first + days_in_month(year, month);
        if day < next {
            return first..next;
        }
        first = next;
    }
    unreachable!("day {day} lies in the year {year}, whose months cover it");
}

fn is_leap(year: Micros) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_year(year: Micros) -> Micros {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in_month(year: Micros, month: u8) -> Micros {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect`: first and last day of the month that holds `day`, counted from the epoch.
    fn check(day: Micros, expect: (Micros, Micros)) {
        let month = month_of(day);
        assert_eq!((month.start, month.end - 1), expect, "day {day}");
    }

    #[test]
    fn months_have_the_lengths_people_know() {
        check(0, (0, 30)); // January 1970
        check(31, (31, 58)); // February 1970
        check(11_016, (10_988, 11_016)); // 29 February 2000, a leap year although a century
        check(47_540, (47_513, 47_540)); // 28 February 2100, no leap year although divisible by four
        check(19_675, (19_662, 19_691)); // 14 November 2023
    }

    #[test]
    fn weeks_begin_on_mondays() {
        assert_eq!(week_of(0), -3..4);
        assert_eq!(week_of(4), 4..11); // Monday, 5 January 1970
    }
}
