//! When to come back, as a server says it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wait that the value of a `Retry-After` header names: seconds, or a date (RFC 9110, 10.2.3). `None` if it is
/// neither.
///
/// A date that has passed means no wait at all; seconds beyond 2^64 count as 2^64 − 1.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use tallyring_client::retry::retry_after;
///
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777); // Sun, 06 Nov 1994 08:49:37 GMT
/// assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(retry_after("Sun, 06 Nov 1994 08:50:00 GMT", now), Some(Duration::from_secs(23)));
/// assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:00 GMT", now), Some(Duration::ZERO));
/// assert_eq!(retry_after("1.5", now), None);
/// ```
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    delay_seconds(value).or_else(|| Some(wait_until(httpdate::parse_http_date(value).ok()?, now)))
}

/// How long it is from `now` until `then`: nothing if it has passed.
pub fn wait_until(then: SystemTime, now: SystemTime) -> Duration {
    then.duration_since(now).unwrap_or(Duration::ZERO)
}

/// How long it is from `now` until a reset that is given in seconds since the Unix epoch, as some `X-RateLimit-Reset`
/// headers do: nothing if it has passed.
pub fn wait_until_epoch_s(reset_epoch_s: u64, now: SystemTime) -> Duration {
    Duration::from_secs(reset_epoch_s).saturating_sub(wait_until(now, UNIX_EPOCH))
}

fn delay_seconds(digits: &str) -> Option<Duration> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Duration::from_secs(digits.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tue, 14 Nov 2023 22:13:25 GMT.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_005)
    }

    #[test]
    fn a_reset_already_past_means_no_wait() {
        // client-past-01
        assert_eq!(wait_until_epoch_s(1_700_000_000, now()), Duration::ZERO);
        assert_eq!(wait_until_epoch_s(0, now()), Duration::ZERO);
        assert_eq!(wait_until(UNIX_EPOCH, now()), Duration::ZERO);
        assert_eq!(retry_after("Tue, 14 Nov 2023 22:13:20 GMT", now()), Some(Duration::ZERO));
    }

    #[test]
    fn a_reset_to_come_is_waited_for() {
        assert_eq!(wait_until_epoch_s(1_700_000_006, now()), Duration::from_secs(1));
        assert_eq!(wait_until_epoch_s(1_700_000_006, now() + Duration::from_millis(1)), Duration::from_millis(999));
        assert_eq!(wait_until_epoch_s(7, UNIX_EPOCH - Duration::from_secs(1)), Duration::from_secs(7));
    }

    #[test]
    fn seconds_are_digits_and_no_number_of_them_wraps() {
        let check = |value: &str, expect: Option<u64>| {
            assert_eq!(retry_after(value, now()), expect.map(Duration::from_secs), "{value:?}");
        };
        check("0", Some(0));
        check(" 7\t", Some(7));
        check("007", Some(7));
        check("18446744073709551616", Some(u64::MAX));
        ["", " ", "-1", "+1", "1.5", "1e3", "7s", "soon", "٣"].iter().for_each(|value| check(value, None));
    }

    #[test]
    fn every_form_of_an_http_date_is_read() {
        let forms = ["Tue, 14 Nov 2023 22:13:26 GMT", "Tuesday, 14-Nov-23 22:13:26 GMT", "Tue Nov 14 22:13:26 2023"];
        forms.iter().for_each(|form| assert_eq!(retry_after(form, now()), Some(Duration::from_secs(1)), "{form}"));
        assert_eq!(retry_after("Tue, 31 Feb 2023 22:13:26 GMT", now()), None);
    }
}
