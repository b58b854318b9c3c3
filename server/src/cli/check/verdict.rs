//! A decision in a line, for people.

use std::fmt;
use std::time::Duration;

use super::super::exit::Exit;

/// What was decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    pub(super) limit: u64,
    pub(super) remaining: u64,
    pub(super) retry_after: Wait,
    pub(super) reset_after: Wait,
}

impl Verdict {
    /// How a command with this verdict ends.
    pub(super) fn exit(&self) -> Exit {
        if self.allowed { Exit::Good } else { Exit::Denied }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { allowed, limit, remaining, retry_after, reset_after } = self;
        let word = if *allowed { "allowed" } else { "denied" };
        write!(f, "{word}: {remaining} of {limit} left")?;
        match retry_after.0 {
            _ if *allowed => {}
            None => return f.write_str(", and no wait helps: it asks for more than there ever is"),
            Some(_) => write!(f, ", the next try can pass in {retry_after}")?,
        }
        if reset_after.0.is_some_and(|wait| !wait.is_zero()) {
            write!(f, ", whole again in {reset_after}")?;
        }
        Ok(())
    }
}

/// A wait; `None` = for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait(pub(super) Option<Duration>);

impl Wait {
    pub(super) fn from_us(us: Option<u64>) -> Wait {
        Wait(us.map(Duration::from_micros))
    }

    /// In milliseconds, rounded up.
    pub(super) fn as_ms(self) -> Option<u64> {
        self.0.map(|wait| u64::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ms) = self.as_ms() else { return f.write_str("for ever") };
        match ms {
            0..1_000 => write!(f, "{ms}ms"),
            1_000..60_000 if ms % 1_000 == 0 => write!(f, "{}s", ms / 1_000),
            1_000..60_000 => write!(f, "{}.{}s", ms / 1_000, (ms % 1_000 / 100).min(9)),
            60_000..3_600_000 => write!(f, "{}m{:02}s", ms / 60_000, ms.div_ceil(1_000) % 60),
            3_600_000..86_400_000 => write!(f, "{}h{:02}m", ms / 3_600_000, ms / 60_000 % 60),
            _ => write!(f, "{}d{:02}h", ms / 86_400_000, ms / 3_600_000 % 24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(verdict: Verdict, expect: &str) {
        assert_eq!(verdict.to_string(), expect);
    }

    #[test]
    fn a_verdict_is_a_line() {
        let wait = |us| Wait::from_us(Some(us));
        let allowed =
            Verdict { allowed: true, limit: 100, remaining: 99, retry_after: wait(0), reset_after: wait(600_000) };
        check(allowed, "allowed: 99 of 100 left, whole again in 600ms");
        check(Verdict { remaining: 100, reset_after: wait(0), ..allowed }, "allowed: 100 of 100 left");
        let denied = Verdict { allowed: false, remaining: 0, retry_after: wait(6_000_000), ..allowed };
        check(denied, "denied: 0 of 100 left, the next try can pass in 6s, whole again in 600ms");
        check(
            Verdict { retry_after: Wait(None), ..denied },
            "denied: 0 of 100 left, and no wait helps: it asks for more than there ever is",
        );
    }

    #[test]
    fn waits_are_as_long_as_they_say() {
        let check = |us: u64, expect: &str| assert_eq!(Wait::from_us(Some(us)).to_string(), expect);
        check(1, "1ms");
        check(999_001, "1s");
        check(1_450_000, "1.4s");
        check(90_000_000, "1m30s");
        check(3_600_000_000, "1h00m");
        check(90_000_000_000, "1d01h");
    }
}
