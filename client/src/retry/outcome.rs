//! What became of an attempt.

use std::time::Duration;
#[cfg(feature = "tower")]
use std::time::SystemTime;

/// What became of an attempt, as far as it matters for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it should. Pays into the retry budget.
    Success,
    /// It was refused, and this wait was named: nothing is earlier than that.
    Told(Duration),
    /// It failed, and nobody knows for how long.
    Failed,
    /// It failed in a way that no other attempt of the same changes.
    Final,
}

#[cfg(feature = "tower")]
impl Outcome {
    /// Reads a response: its status, and its `Retry-After` if it refuses.
    ///
    /// | status | outcome |
    /// |---|---|
    /// | 429, 503 | `Told` with a `Retry-After`, else `Failed` |
    /// | 408, 425, 500, 502, 504 | `Failed` |
    /// | other 4xx and 5xx | `Final` |
    /// | all others | `Success` |
    ///
    /// A date is compared with the response's own `Date`, so that the clocks of server and caller need not agree; only
    /// without one it is compared with `now`.
    pub fn of(status: http::StatusCode, headers: &http::HeaderMap, now: SystemTime) -> Outcome {
        match status.as_u16() {
            429 | 503 => told(headers, now).map_or(Outcome::Failed, Outcome::Told),
            408 | 425 | 500 | 502 | 504 => Outcome::Failed,
            400..=599 => Outcome::Final,
            _ => Outcome::Success,
        }
    }
}

#[cfg(feature = "tower")]
fn told(headers: &http::HeaderMap, now: SystemTime) -> Option<Duration> {
    use http::header::{DATE, RETRY_AFTER};
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let now = text(DATE).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    super::retry_after(text(RETRY_AFTER)?, now)
}

#[cfg(feature = "tower")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn check(status: u16, headers: &[(&'static str, &str)], expect: Outcome) {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        assert_eq!(Outcome::of(http::StatusCode::from_u16(status).unwrap(), &headers, now), expect, "{status}");
    }

    #[test]
    fn a_refusal_tells_when_to_come_back() {
        for status in [429, 503] {
            check(status, &[("retry-after", "7")], Outcome::Told(Duration::from_secs(7)));
            check(status, &[], Outcome::Failed);
            check(status, &[("retry-after", "soon")], Outcome::Failed);
        }
        check(200, &[("retry-after", "7")], Outcome::Success);
    }

    #[test]
    fn a_date_counts_from_the_servers_own_clock() {
        let retry_after = ("retry-after", "Tue, 14 Nov 2023 22:13:30 GMT"); // ten seconds after our now
        check(429, &[retry_after], Outcome::Told(Duration::from_secs(10)));
        check(429, &[retry_after, ("date", "Tue, 14 Nov 2023 22:13:00 GMT")], Outcome::Told(Duration::from_secs(30)));
        check(429, &[retry_after, ("date", "yesterday")], Outcome::Told(Duration::from_secs(10)));
    }

    #[test]
    fn a_status_says_whether_another_attempt_may_help() {
        [200, 204, 304, 101].iter().for_each(|status| check(*status, &[], Outcome::Success));
        [408, 425, 500, 502, 504].iter().for_each(|status| check(*status, &[], Outcome::Failed));
        [400, 401, 403, 404, 409, 501, 505].iter().for_each(|status| check(*status, &[], Outcome::Final));
    }
}
