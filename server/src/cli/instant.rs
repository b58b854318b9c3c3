//! Instants as people read them.

/// Days from the first of March of year 0 to the Unix epoch, in the Gregorian calendar.
const DAYS_TO_EPOCH: u64 = 719_468;

/// Days of four hundred years.
const DAYS_OF_ERA: u64 = 146_097;

/// An instant in UTC to the second, like `2026-11-30 20:14:05Z`, of microseconds since the Unix epoch.
///
/// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2014: a year is counted from March, so that its leap
/// day is its last.
pub(super) fn utc(us: u64) -> String {
    let seconds = us / 1_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a number of days since the Unix epoch.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_EPOCH;
    let (era, of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seconds: u64, expect: &str) {
        assert_eq!(utc(seconds * 1_000_000 + 999_999), expect);
    }

    #[test]
    fn instants_are_read_in_utc() {
        check(0, "1970-01-01 00:00:00Z");
        check(951_782_400, "2000-02-29 00:00:00Z");
        check(951_868_799, "2000-02-29 23:59:59Z");
        check(1_709_164_800, "2024-02-29 00:00:00Z");
        check(1_735_689_599, "2024-12-31 23:59:59Z");
        check(1_780_272_000, "2026-06-01 00:00:00Z");
        check(4_107_542_400, "2100-03-01 00:00:00Z");
    }
}
