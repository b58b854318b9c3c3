//! Instants as logs write them, in microseconds since the Unix epoch; and as people read them.

const SECOND_US: i64 = 1_000_000;
const DAY_S: i64 = 86_400;
/// No zone is further from Greenwich, in hours.
const ZONE_HOURS_MAX: i64 = 14;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The latest instant that is understood: the engine's time has 53 bits.
const T_US_MAX: u64 = (1 << 53) - 1;

/// `17/May/2015:10:05:03 +0000`, as Apache and nginx write it.
pub(super) fn common(text: &str) -> Option<u64> {
    let (date, zone) = text.split_once(' ')?;
    let mut parts = date.split(['/', ':']);
    let mut next = || parts.next();
    let (day, month, year) = (next()?, next()?, next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let date = (digits(year, 4)?, i64::try_from(month).ok()?, digits(day, 2)?);
    let clock = (digits(next()?, 2)?, digits(next()?, 2)?, digits(next()?, 2)?);
    if next().is_some() {
        return None;
    }
    instant(date, clock, 0, offset_s(zone)?)
}

/// `2015-05-17T10:05:03.123Z`: a blank may stand for the T; without a zone it is UTC.
pub(super) fn iso(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let zone_at = rest.find(['Z', '+', '-', ' ']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_at);
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let date = three(date.split('-'), [4, 2, 2])?;
    let clock = three(clock.split(':'), [2, 2, 2])?;
    let offset_s = match zone.trim() {
        "" | "Z" | "UTC" => 0,
        zone => offset_s(zone)?,
    };
    instant(date, clock, micros(fraction)?, offset_s)
}

/// `1431857103`, `1431857103.123`, or the same in milliseconds, microseconds or nanoseconds: told apart by their size, which
/// is right for instants between 1973 and 5138.
pub(super) fn epoch(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = whole.parse::<u64>().ok()?;
    let t_us = match number {
        0..100_000_000_000 => number * 1_000_000 + u64::try_from(micros(fraction)?).ok()?,
        100_000_000_000..100_000_000_000_000 => number * 1_000 + u64::try_from(micros(fraction)? / 1_000).ok()?,
        100_000_000_000_000..100_000_000_000_000_000 => number,
        _ => number / 1_000,
    };
    (t_us <= T_US_MAX).then_some(t_us)
}

/// `2015-05-17 10:05:03`, in UTC.
pub(super) fn display(t_us: u64) -> String {
    let seconds = i64::try_from(t_us / 1_000_000).expect("microseconds of 64 bits are fewer seconds");
    let (year, month, day) = civil(seconds.div_euclid(DAY_S));
    let second = seconds.rem_euclid(DAY_S);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

fn three<'t>(mut parts: impl Iterator<Item = &'t str>, lengths: [usize; 3]) -> Option<(i64, i64, i64)> {
    let [a, b, c] = lengths.map(|length| parts.next().and_then(|part| digits(part, length)));
    if parts.next().is_none() { Some((a?, b?, c?)) } else { None }
}

/// A number of so many digits.
fn digits(text: &str, length: usize) -> Option<i64> {
    let are_digits = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    if are_digits { text.parse().ok() } else { None }
}

/// Decimals of a second; those behind the sixth are dropped.
fn micros(decimals: &str) -> Option<i64> {
    if decimals.is_empty() {
        return Some(0);
    }
    let six: String = decimals.chars().chain("000000".chars()).take(6).collect();
    digits(&six, 6).filter(|_| decimals.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Seconds east of Greenwich of `+0200`, `+02:00` or `-05`.
fn offset_s(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => rest.split_at(2),
        5 => rest.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours <= ZONE_HOURS_MAX && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

fn instant(date: (i64, i64, i64), clock: (i64, i64, i64), micros: i64, offset_s: i64) -> Option<u64> {
    let ((year, month, day), (hour, minute, second)) = (date, clock);
    let is_date = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    let in_range = is_date && hour < 24 && minute < 60 && second <= 60;
    if !in_range {
        return None;
    }
    let seconds = days(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second - offset_s;
    u64::try_from(seconds * SECOND_US + micros).ok()
}

/// Days of a month.
fn days_of(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the Unix epoch. The year is reckoned from March, so that the leap day is its last: a month then begins after
/// `(153·m + 2) / 5` days, as the months' lengths repeat every five.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month_from_march + 2) / 5 + day - 1 - DAYS_TO_EPOCH
}

/// Days from March 1st of the year 0 to January 1st 1970.
const DAYS_TO_EPOCH: i64 = 719_468;

/// The date of a day since the Unix epoch: found by its year, then its month.
fn civil(day: i64) -> (i64, i64, i64) {
    let mut year = 1970 + day.div_euclid(366);
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day).expect("the year has begun");
    (year, month, day - days(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAY_17: u64 = 1_431_857_103_000_000;

    #[test]
    fn an_instant_is_read_however_it_is_written() {
        let check = |read: Option<u64>| assert_eq!(read, Some(MAY_17));
        check(common("17/May/2015:10:05:03 +0000"));
        check(common("17/May/2015:12:05:03 +0200"));
        check(common("16/May/2015:22:05:03 -1200"));
        check(iso("2015-05-17T10:05:03Z"));
        check(iso("2015-05-17T12:05:03+02:00"));
        check(iso("2015-05-17 10:05:03"));
        check(iso("2015-05-17 05:05:03 -0500"));
        check(iso("2015-05-17T10:05:03.000000999Z"));
        check(epoch("1431857103"));
        check(epoch("1431857103.0"));
        check(epoch("1431857103000"));
        check(epoch("1431857103000000"));
        check(epoch("1431857103000000000"));
    }

    #[test]
    fn parts_of_a_second_count() {
        assert_eq!(iso("2015-05-17T10:05:03.25Z"), Some(MAY_17 + 250_000));
        assert_eq!(epoch("1431857103.000007"), Some(MAY_17 + 7));
        assert_eq!(epoch("1431857103250.5"), Some(MAY_17 + 250_500));
    }

    #[test]
    fn what_is_no_instant_is_none() {
        for text in [
            "",
            "17/May/2015",
            "17/May/2015:10:05",
            "17/Mai/2015:10:05:03 +0000",
            "32/May/2015:10:05:03 +0000",
            "31/Feb/2015:10:05:03 +0000",
            "29/Feb/2015:10:05:03 +0000",
            "31/Apr/2015:10:05:03 +0000",
            "00/May/2015:10:05:03 +0000",
            "17/May/2015:10:05:03:04 +0000",
            "17/May/2015:10:05:03 +9900",
            "17/May/2015:10:05:03 +0060",
            "17/May/2015:25:05:03 +0000",
            "17/May/1900:10:05:03 +0000",
            "17/May/2015:10:05:03 0000",
        ] {
            assert_eq!(common(text), None, "{text}");
        }
        for text in [
            "",
            "2015-05-17",
            "2015-5-17T10:05:03Z",
            "2015-05-17T10:05Z",
            "2015-05-17T10:05:03X",
            "2015-13-17T10:05:03Z",
            "2100-02-29T10:05:03Z",
            "2015-05-17T10:05:03.xZ",
        ] {
            assert_eq!(iso(text), None, "{text}");
        }
        for text in ["", "-1", "x", "1.x", "99999999999999999999"] {
            assert_eq!(epoch(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_has_one_date() {
        for day in (-1_000..60_000).step_by(7) {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), day);
        }
        assert_eq!(display(0), "1970-01-01 00:00:00");
        assert_eq!(display(MAY_17), "2015-05-17 10:05:03");
        assert_eq!(display(1_709_164_800_000_000), "2024-02-29 00:00:00");
        assert_eq!(iso("2024-02-29T00:00:00Z"), Some(1_709_164_800_000_000));
        assert!(iso("2000-02-29T00:00:00Z").is_some());
        assert_eq!(display(1_735_689_599_000_000), "2024-12-31 23:59:59");
    }
}
