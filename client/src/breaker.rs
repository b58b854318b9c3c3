//! The breaker: after a streak of failures nobody waits for a deadline any more, except one probe now and then.
//!
//! ```text
//!             FAILURES_MAX in a row
//!    closed ──────────────────────────► open
//!      ▲                                 │ its time is over
//!      │ the probe succeeds              ▼
//!      └───────────────────────────── half-open ──► open, for twice as long, if the probe fails
//! ```
//! There is one per connection, under the lock that every call takes anyway, and time is handed in: no atomics here.
//! A lost connection needs no breaker: while there is none every call fails at once, and the welcome is the probe.

use std::time::Duration;

use crate::sys::clock::Instant;

/// Failures in a row that open the breaker.
pub(crate) const FAILURES_MAX: u32 = 8;

/// How long it stays open at first.
pub(crate) const OPEN_FIRST: Duration = Duration::from_millis(50);

/// How long it stays open at most: a store that is back is noticed within this time.
pub(crate) const OPEN_MAX: Duration = Duration::from_millis(800);

/// Counts failures and decides who may try.
#[derive(Debug)]
pub(crate) struct Breaker {
    state: State,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open(Rest),
    HalfOpen(Rest),
}

/// Until when nobody else may try.
#[derive(Clone, Copy, Debug)]
struct Rest {
    until: Instant,
    lasts: Duration,
}

impl Rest {
    fn from(now: Instant, lasts: Duration) -> Rest {
        Rest { until: now + lasts, lasts }
    }

    fn twice_from(self, now: Instant) -> Rest {
        Rest::from(now, (self.lasts * 2).min(OPEN_MAX))
    }
}

impl Breaker {
    /// A breaker that lets every call pass.
    pub(crate) fn closed() -> Breaker {
        Breaker { state: State::Closed { failures: 0 } }
    }

    /// Whether a call may be sent at `now`. The first one after an open time is the probe.
    ///
    /// The others wait for its outcome, but no longer than an open time: a probe whose caller went away has none.
    #[inline]
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open(rest) | State::HalfOpen(rest) if now >= rest.until => {
                self.state = State::HalfOpen(Rest::from(now, rest.lasts));
                true
            }
            State::Open(_) | State::HalfOpen(_) => false,
        }
    }

    /// Whether nobody may try at `now`, not even a probe.
    pub(crate) fn rests(&self, now: Instant) -> bool {
        match self.state {
            State::Closed { .. } => false,
            State::Open(rest) | State::HalfOpen(rest) => now < rest.until,
        }
    }

    /// An answer came in time.
    #[inline]
    pub(crate) fn succeeded(&mut self) {
        match self.state {
            State::Closed { .. } | State::HalfOpen(_) => self.state = State::Closed { failures: 0 },
            State::Open(_) => {} // a call from before it opened: only a probe closes it again
        }
    }

    /// A call failed, as was noticed at `now`.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.state = match self.state {
            State::Closed { failures } if failures + 1 < FAILURES_MAX => State::Closed { failures: failures + 1 },
            State::Closed { .. } => State::Open(Rest::from(now, OPEN_FIRST)),
            State::HalfOpen(rest) => State::Open(rest.twice_from(now)),
            State::Open(rest) => State::Open(rest),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock;

    /// Runs one letter a step: `f` a failure, `s` a success, `.` lets 50 ms pass, `?` asks. Returns the answers.
    fn check(script: &str, expect: &str) {
        let (mut breaker, mut now, mut answers) = (Breaker::closed(), clock::now(), String::new());
        for step in script.chars() {
            match step {
                'f' => breaker.failed(now),
                's' => breaker.succeeded(),
                '.' => now += OPEN_FIRST,
                _ => {
                    let rests = breaker.rests(now);
                    answers.push(if breaker.admits(now) { 'y' } else { 'n' });
                    assert_eq!(rests, answers.ends_with('n'), "{script}");
                }
            }
        }
        assert_eq!(answers, expect, "{script}");
    }

    #[test]
    fn a_streak_of_failures_opens_it() {
        check("fffffff?", "y");
        check("ffffffff?", "n");
        check("fffffffsf?", "y");
    }

    #[test]
    fn after_its_time_one_probe_passes() {
        check("ffffffff?.???", "nynn");
    }

    #[test]
    fn a_probe_without_an_outcome_is_followed_by_another() {
        check("ffffffff.??.??", "ynyn");
    }

    #[test]
    fn a_good_probe_closes_it() {
        check("ffffffff.?s???", "yyyy");
        check("ffffffff.?sfffffff?f?", "yyn");
    }

    #[test]
    fn a_bad_probe_doubles_the_time() {
        check("ffffffff.?f?.?.?", "ynny");
        check("ffffffff.?f..?f...?.?", "yyny");
    }

    #[test]
    fn its_time_is_bounded() {
        let (mut breaker, mut now) = (Breaker::closed(), clock::now());
        (0..FAILURES_MAX).for_each(|_| breaker.failed(now));
        for _ in 0..20 {
            now += OPEN_MAX;
            assert!(breaker.admits(now));
            breaker.failed(now);
        }
    }

    /// Case client-brk-02.
    #[test]
    fn of_fifty_callers_one_is_the_probe() {
        check(&format!("ffffffff.{}", "?".repeat(50)), &format!("y{}", "n".repeat(49)));
    }

    /// Case client-brk-04: down for the first and the third minute, a call a second. Returns the seconds of good calls.
    #[test]
    fn every_recovery_is_noticed_and_nothing_is_latched() {
        let (mut breaker, start) = (Breaker::closed(), clock::now());
        let served: Vec<u64> = (0..240)
            .filter(|second| {
                let now = start + Duration::from_secs(*second);
                let is_up = second / 60 % 2 == 1;
                let is_sent = breaker.admits(now);
                match is_up {
                    true if is_sent => breaker.succeeded(),
                    false if is_sent => breaker.failed(now),
                    _ => {}
                }
                is_up && is_sent
            })
            .collect();
        assert_eq!(served, (60..120).chain(180..240).collect::<Vec<_>>());
    }

    #[test]
    fn answers_to_older_calls_do_not_close_it() {
        check("ffffffffs?", "n");
    }
}
