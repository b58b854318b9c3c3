//! `Retry-After`: whole seconds (RFC 9110, 10.2.3), never earlier than the truth, and not the same for everybody.

use std::time::Duration;

use super::seconds_up;
use crate::rules::Fraction;

/// The most that jitter adds to a wait, however long it is.
pub const RETRY_JITTER_MAX: Duration = Duration::from_secs(30);

/// The seconds that a refused caller is told to wait: `wait`, and at random up to the part `jitter` of it more, at most
/// [`RETRY_JITTER_MAX`]; rounded up, at least 1.
///
/// `up_to` draws a number from 0 up to and including the one that it is given, evenly: microseconds here.
///
/// ```
/// use std::time::Duration;
/// use tallyring_protocol::headers::retry_after_s;
/// use tallyring_protocol::rules::Fraction;
///
/// let (wait, jitter) = (Duration::from_millis(14_800), Fraction::from_millionths(200_000));
/// assert_eq!(retry_after_s(wait, jitter, |_| 0), 15);
/// assert_eq!(retry_after_s(wait, jitter, |most| most), 18); // 14.8 s and a fifth of it are 17.76 s
/// ```
pub fn retry_after_s(wait: Duration, jitter: Fraction, up_to: impl FnOnce(u64) -> u64) -> u64 {
    let wait_us = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
    let jitter_us_max = u64::try_from(RETRY_JITTER_MAX.as_micros()).expect("half a minute");
    let added_us = up_to(jitter.of_rounded_down(wait_us).min(jitter_us_max));
    seconds_up(wait.saturating_add(Duration::from_micros(added_us))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wait_us: u64, jitter: &str, least: u64, most: u64) {
        let (wait, jitter) = (Duration::from_micros(wait_us), jitter.parse().unwrap());
        assert_eq!(retry_after_s(wait, jitter, |_| 0), least, "{wait_us} µs and the least jitter");
        assert_eq!(retry_after_s(wait, jitter, |most| most), most, "{wait_us} µs and the most jitter");
    }

    #[test]
    fn a_wait_is_whole_seconds_rounded_up() {
        // http-retry-02, without jitter
        check(1, "0", 1, 1);
        check(250_000, "0", 1, 1);
        check(8_640_000_000_000, "0", 8_640_000, 8_640_000);
        check(9_007_199_254_740_992, "0", 9_007_199_255, 9_007_199_255);
        check(0, "0", 1, 1);
        check(1_000_000, "0", 1, 1);
        check(1_000_001, "0", 2, 2);
    }

    #[test]
    fn jitter_adds_a_part_of_the_wait_and_at_most_half_a_minute() {
        check(10_000_000, "0.2", 10, 12);
        check(10_000_000, "1", 10, 20);
        check(150_000_000, "0.2", 150, 180);
        check(3_600_000_000, "0.2", 3_600, 3_630);
        check(1, "0.2", 1, 1);
    }

    #[test]
    fn the_longest_wait_does_not_wrap() {
        let wait = retry_after_s(Duration::MAX, Fraction::from_millionths(1_000_000), |most| most);
        assert_eq!(wait, super::super::INTEGER_MAX);
    }
}
