//! A rule as its callers know it: a name, a quota, a window.

use std::fmt::Write as _;

use super::INTEGER_MAX;
use crate::code::AlgorithmCode;
use crate::request::PeriodCode;
use crate::rules::{Numbers, Rule};

const DAY_S: u64 = 86_400;

/// What a character that no header can hold is written as.
const REPLACEMENT: char = '?';

/// What does not change from one response to the next: a rule's name and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    /// The rule's id.
    pub name: &'a str,
    /// The ceiling: the most units that one call can get.
    pub quota: u64,
    /// The time in which a whole quota comes back, in seconds, rounded up; `None` for slots that are held at the same
    /// time, which come back when they are released.
    pub window_s: Option<u64>,
}

impl<'a> Policy<'a> {
    /// The policy of a rule; `None` if it does not count: it allows or blocks.
    pub fn of(rule: &'a Rule) -> Option<Policy<'a>> {
        let numbers = rule.numbers()?;
        Some(Policy { name: rule.id(), quota: numbers.ceiling(), window_s: window_s(numbers) })
    }

    /// `"name";q=10;w=60`, or `"name";q=10;qu="concurrent-requests"`.
    pub(super) fn write(&self, out: &mut String) {
        self.write_name(out);
        let _ = write!(out, ";q={}", self.quota.min(INTEGER_MAX));
        let _ = match self.window_s {
            Some(window_s) => write!(out, ";w={window_s}"),
            None => write!(out, ";qu=\"concurrent-requests\""),
        };
    }

    /// The name as a structured field's string: printable ASCII, with a backslash before quotes and backslashes
    /// (RFC 9651, 4.1.6).
    pub(super) fn write_name(&self, out: &mut String) {
        out.push('"');
        for char in self.name.chars() {
            if matches!(char, '"' | '\\') {
                out.push('\\');
            }
            out.push(if matches!(char, ' '..='~') { char } else { REPLACEMENT });
        }
        out.push('"');
    }
}

/// The time in which a whole ceiling comes back: a bucket of 10 that gains 20 a minute has 30 s.
fn window_s(numbers: &Numbers) -> Option<u64> {
    let period_us = match numbers.period {
        _ if numbers.algorithm == AlgorithmCode::Concurrency => return None,
        PeriodCode::Micros(micros) => micros,
        PeriodCode::Day => return Some(DAY_S),
        PeriodCode::Week => return Some(7 * DAY_S),
        PeriodCode::Month => return Some(30 * DAY_S),
    };
    let micros = u128::from(period_us) * u128::from(numbers.ceiling());
    let seconds = micros.div_ceil(u128::from(numbers.limit.max(1)) * 1_000_000);
    Some(u64::try_from(seconds).map_or(INTEGER_MAX, |seconds| seconds.clamp(1, INTEGER_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_time_of_a_whole_ceiling() {
        let check = |algorithm, limit, period, burst, expect: Option<u64>| {
            assert_eq!(window_s(&Numbers { algorithm, limit, period, burst }), expect);
        };
        let minute = PeriodCode::Micros(60_000_000);
        check(AlgorithmCode::FixedWindow, 7, minute, 0, Some(60));
        check(AlgorithmCode::FixedWindow, 7, PeriodCode::Micros(1), 0, Some(1));
        check(AlgorithmCode::FixedWindow, 7, PeriodCode::Week, 0, Some(604_800));
        check(AlgorithmCode::TokenBucket, 300, minute, 100, Some(20));
        check(AlgorithmCode::TokenBucket, 3, minute, 10, Some(200));
        check(AlgorithmCode::TokenBucket, 7, minute, 1, Some(9));
        check(AlgorithmCode::Concurrency, 7, minute, 0, None);
    }

    #[test]
    fn a_policy_is_one_structured_item() {
        let check = |name, quota, window_s, expect: &str| {
            let mut out = String::new();
            Policy { name, quota, window_s }.write(&mut out);
            assert_eq!(out, expect);
        };
        check("p", 10, Some(30), r#""p";q=10;w=30"#);
        check("slots", 10, None, r#""slots";q=10;qu="concurrent-requests""#);
        check(r#"a"b\c"#, 1, Some(1), r#""a\"b\\c";q=1;w=1"#);
        check("größe\n", 1, Some(1), r#""gr??e?";q=1;w=1"#);
        check("p", u64::MAX, Some(1), r#""p";q=999999999999999;w=1"#);
    }
}
