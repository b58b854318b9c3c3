//! Waits as JSON has them: whole milliseconds, rounded up, so that none is earlier than the truth.

use std::time::Duration;

/// The longest: what every reader of JSON keeps exact. 285,000 years.
pub(super) const MILLIS_MAX: u64 = (1 << 53) - 1;

/// A wait in milliseconds.
pub(super) fn of(wait: Duration) -> u64 {
    let millis = wait.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).unwrap_or(MILLIS_MAX).min(MILLIS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up_and_cut_to_what_json_keeps() {
        let check = |us, expect| assert_eq!(of(Duration::from_micros(us)), expect, "{us} us");
        check(0, 0);
        check(1, 1);
        check(1_000, 1);
        check(1_001, 2);
        check(i64::MAX as u64, MILLIS_MAX);
        assert_eq!(of(Duration::MAX), MILLIS_MAX);
    }
}
