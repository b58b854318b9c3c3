//! When a node that was down may serve again.

use super::super::length::RENEWED_EVERY_US;

/// How long a node that went down once asks steadily before it serves again, in microseconds.
pub const RETURN_US_MIN: u64 = 1_000_000;

/// And how long at most, however often it went down.
pub const RETURN_US_MAX: u64 = 60_000_000;

/// After so long without another time, a node is taken to be well, in microseconds.
pub const FORGOTTEN_US: u64 = 600_000_000;

/// A node that says nothing for longer than this does not ask steadily, in microseconds.
pub const SILENCE_US_MAX: u64 = 5 * RENEWED_EVERY_US;

/// How often a node went down of late, and how steadily it asks. A leader's own memory: the next one begins anew.
#[derive(Debug, Default)]
pub(super) struct Damping {
    downs: u32,
    down_us: u64,
    heard_us: u64,
    steady_since_us: u64,
}

impl Damping {
    /// It asked.
    pub(super) fn heard(&mut self, now_us: u64) {
        if self.is_silent(now_us) {
            self.steady_since_us = now_us;
        }
        self.heard_us = now_us;
    }

    /// It was marked down.
    pub(super) fn went_down(&mut self, now_us: u64) {
        let before = if now_us.saturating_sub(self.down_us) > FORGOTTEN_US { 0 } else { self.downs };
        (self.downs, self.down_us) = (before.saturating_add(1), now_us);
    }

    /// Whether it has asked steadily, and been down, for long enough.
    pub(super) fn may_return(&self, now_us: u64) -> bool {
        let since_us = self.steady_since_us.max(self.down_us);
        !self.is_silent(now_us) && now_us.saturating_sub(since_us) >= self.wait_us()
    }

    fn wait_us(&self) -> u64 {
        let doublings = self.downs.saturating_sub(1).min(RETURN_US_MAX.ilog2());
        RETURN_US_MIN.saturating_mul(1 << doublings).min(RETURN_US_MAX)
    }

    fn is_silent(&self, now_us: u64) -> bool {
        self.heard_us == 0 || now_us.saturating_sub(self.heard_us) > SILENCE_US_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// How long a node waits that asks all the time and went down at these seconds.
    fn check(downs: &[u64], expect_us: u64) {
        let mut damping = Damping::default();
        for at in downs {
            damping.went_down(at * SECOND);
        }
        let from = downs.last().unwrap() * SECOND;
        let mut now = from;
        while !damping.may_return(now) {
            damping.heard(now);
            now += RENEWED_EVERY_US;
            assert!(now - from <= 2 * RETURN_US_MAX, "never returns after {downs:?}");
        }
        assert_eq!((now - from).next_multiple_of(RENEWED_EVERY_US), expect_us.next_multiple_of(RENEWED_EVERY_US));
    }

    #[test]
    fn whoever_flaps_waits_twice_as_long_each_time() {
        check(&[100], SECOND);
        check(&[100, 110], 2 * SECOND);
        check(&[100, 110, 120], 4 * SECOND);
        check(&[100, 110, 120, 130, 140, 150], 32 * SECOND);
        check(&[100; 7], RETURN_US_MAX);
        check(&[100; 200], RETURN_US_MAX);
        check(&[100, 110, 120, 721], SECOND);
    }

    #[test]
    fn whoever_falls_silent_begins_to_wait_anew() {
        let mut damping = Damping::default();
        damping.went_down(SECOND);
        assert!(!damping.may_return(9 * SECOND), "not heard of");
        for at_us in (2 * SECOND..).step_by(50_000).take(10) {
            damping.heard(at_us);
        }
        damping.heard(8 * SECOND);
        assert!(!damping.may_return(8 * SECOND), "it was silent in between");
        assert!(!damping.may_return(9 * SECOND), "it is silent now");
    }
}
