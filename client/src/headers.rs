//! What clients are told about their budget, in the header families that they know.
//!
//! - *Structured*: `RateLimit-Policy: "name";q=10;w=30` and `RateLimit: "name";r=7;t=9`, of
//!   draft-ietf-httpapi-ratelimit-headers-10 (2025-09): names are quoted strings, numbers integers.
//! - *X-RateLimit*: `x-ratelimit-limit`, `-remaining`, `-reset`; the last in seconds from now, not as a date.
//! - `Retry-After` (RFC 9110), on a refusal: whole seconds, rounded up, so that it is never earlier than the truth.
//!   A request that no wait helps carries none.
//!
//! All families say the same thing: the quota is the ceiling, its window the time in which a whole ceiling comes back.

use std::time::Duration;

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use tallyring_engine::{Calendar, Limit, Period};

use crate::decision::RuleDecision;

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The largest integer of a structured field (RFC 9651): larger numbers are cut to it.
const INTEGER_MAX: u64 = 999_999_999_999_999;

const DAY_S: u64 = 86_400;

/// A set of headers that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeaderFamily {
    /// `RateLimit-Policy` and `RateLimit`.
    Structured,
    /// `x-ratelimit-limit`, `x-ratelimit-remaining`, `x-ratelimit-reset`.
    XRateLimit,
}

impl HeaderFamily {
    /// Every family.
    pub const ALL: [HeaderFamily; 2] = [HeaderFamily::Structured, HeaderFamily::XRateLimit];
}

/// What is said of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    allowed: bool,
    limit: u64,
    remaining: u64,
    retry_after: Option<Duration>,
    reset_after: Duration,
}

impl From<&RuleDecision> for Said {
    fn from(decision: &RuleDecision) -> Said {
        let RuleDecision { allowed, limit, remaining, retry_after, reset_after, .. } = *decision;
        Said { allowed, limit, remaining, retry_after, reset_after }
    }
}

/// What does not change from one response to the next: the policy's name and numbers.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The name, quoted and escaped.
    quoted: String,
    header: HeaderValue,
}

impl Policy {
    /// The policy of a limit. The `name` is printable ASCII.
    pub(crate) fn new(name: &str, limit: Limit) -> Policy {
        let quoted = quoted(name);
        let text = format!("{quoted};q={};w={}", limit.ceiling().min(INTEGER_MAX), window_s(limit));
        Policy { quoted, header: value(&text) }
    }
}

/// Writes the headers of a decision, the same set whether it allows or refuses.
pub(crate) fn write(headers: &mut HeaderMap, policy: &Policy, decision: &Said, families: &[HeaderFamily]) {
    let wait_s = wait_s(decision);
    for family in families {
        match family {
            HeaderFamily::Structured => {
                let text = format!("{};r={}{}", policy.quoted, decision.remaining.min(INTEGER_MAX), after(wait_s));
                headers.insert(RATELIMIT_POLICY, policy.header.clone());
                headers.insert(RATELIMIT, value(&text));
            }
            HeaderFamily::XRateLimit => {
                headers.insert(X_RATELIMIT_LIMIT, decision.limit.into());
                headers.insert(X_RATELIMIT_REMAINING, decision.remaining.into());
                headers.insert(X_RATELIMIT_RESET, seconds_up(decision.reset_after).into());
            }
        }
    }
    if let Some(wait_s) = wait_s.filter(|_| !decision.allowed) {
        headers.insert(RETRY_AFTER, wait_s.into());
    }
}

/// When there is more: after a refusal, when the same request would pass; else when the whole budget is free again.
/// Nothing if no wait helps.
fn wait_s(decision: &Said) -> Option<u64> {
    if decision.allowed { Some(seconds_up(decision.reset_after)) } else { decision.retry_after.map(seconds_up) }
}

fn after(wait_s: Option<u64>) -> String {
    wait_s.map_or_else(String::new, |wait_s| format!(";t={wait_s}"))
}

/// Whole seconds, rounded up.
fn seconds_up(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).min(INTEGER_MAX)
}

/// The time in which a whole ceiling comes back, in seconds, rounded up: a bucket of 10 that gains 20 a minute has 30 s.
fn window_s(limit: Limit) -> u64 {
    let period_us = match limit.period() {
        Period::Micros(micros) => micros,
        Period::Calendar(Calendar::Day) => return DAY_S,
        Period::Calendar(Calendar::Week) => return 7 * DAY_S,
        Period::Calendar(Calendar::Month) => return 30 * DAY_S,
    };
    let micros = u128::from(period_us) * u128::from(limit.ceiling());
    let seconds = micros.div_ceil(u128::from(limit.limit()) * 1_000_000);
    u64::try_from(seconds).map_or(INTEGER_MAX, |seconds| seconds.clamp(1, INTEGER_MAX))
}

/// A structured field's string: quoted, with a backslash before quotes and backslashes (RFC 9651, 4.1.6).
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', r"\\").replace('"', "\\\""))
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("a limiter's name is printable ASCII, and so are numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallyring_engine::Algorithm;

    fn bucket() -> Limit {
        Limit::new(Algorithm::TokenBucket, 20, Period::Micros(60_000_000), Some(10)).unwrap()
    }

    fn decision() -> Said {
        Said {
            allowed: true,
            limit: 10,
            remaining: 7,
            retry_after: Some(Duration::ZERO),
            reset_after: Duration::from_micros(8_000_001),
        }
    }

    /// Compares everything that is sent, a header a line.
    fn check(name: &str, decision: Said, families: &[HeaderFamily], expect: &[&str]) {
        let mut headers = HeaderMap::new();
        write(&mut headers, &Policy::new(name, bucket()), &decision, families);
        let mut lines: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        assert_eq!(lines, expect);
    }

    #[test]
    fn an_allowed_request_is_told_what_is_left() {
        let expect = [
            "ratelimit-policy: \"p\";q=10;w=30",
            "ratelimit: \"p\";r=7;t=9",
            "x-ratelimit-limit: 10",
            "x-ratelimit-remaining: 7",
            "x-ratelimit-reset: 9",
        ];
        check("p", decision(), &HeaderFamily::ALL, &expect);
        check("p", decision(), &[HeaderFamily::Structured], &expect[..2]);
        check("p", decision(), &[], &[]);
    }

    #[test]
    fn a_refused_request_is_told_when_to_come_back_and_never_too_early() {
        let refused = |micros| Said {
            allowed: false,
            remaining: 0,
            retry_after: Some(Duration::from_micros(micros)),
            ..decision()
        };
        for (micros, seconds) in [(1, 1), (1_000_000, 1), (1_000_001, 2), (2_999_999, 3)] {
            let (limit, retry) = (format!("ratelimit: \"p\";r=0;t={seconds}"), format!("retry-after: {seconds}"));
            check(
                "p",
                refused(micros),
                &[HeaderFamily::Structured],
                &["ratelimit-policy: \"p\";q=10;w=30", &limit, &retry],
            );
        }
    }

    #[test]
    fn a_request_that_no_wait_helps_is_not_told_to_wait() {
        let never = Said { allowed: false, retry_after: None, ..decision() };
        let expect = ["ratelimit-policy: \"p\";q=10;w=30", "ratelimit: \"p\";r=7"];
        check("p", never, &[HeaderFamily::Structured], &expect);
    }

    #[test]
    fn a_name_is_escaped() {
        let expect = [r#"ratelimit-policy: "a\"b\\c";q=10;w=30"#, r#"ratelimit: "a\"b\\c";r=7;t=9"#];
        check("a\"b\\c", decision(), &[HeaderFamily::Structured], &expect);
    }

    #[test]
    fn a_window_is_the_time_of_a_whole_ceiling() {
        let check = |algorithm, limit, period, burst, seconds| {
            assert_eq!(window_s(Limit::new(algorithm, limit, period, burst).unwrap()), seconds);
        };
        let minute = Period::Micros(60_000_000);
        check(Algorithm::FixedWindow, 7, minute, None, 60);
        check(Algorithm::FixedWindow, 7, Period::Micros(1), None, 1);
        check(Algorithm::FixedWindow, 7, Period::Calendar(Calendar::Week), None, 604_800);
        check(Algorithm::TokenBucket, 300, minute, Some(100), 20);
        check(Algorithm::TokenBucket, 3, minute, Some(10), 200);
        check(Algorithm::TokenBucket, 7, minute, Some(1), 9);
    }
}
