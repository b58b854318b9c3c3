//! When calls are to be said in an open loop: at a fixed rate, whatever has become of the earlier ones.

use std::time::Duration;

const SECOND_NS: u128 = 1_000_000_000;

/// A plan of arrivals. So many calls at once, as a gateway says what its callers asked at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrivals {
    pub(super) calls_per_s: u64,
    /// Calls of one arrival.
    pub(super) batch: u32,
    pub(super) count: u64,
}

impl Arrivals {
    /// As many as there are within `duration`, at least one.
    pub(super) fn within(duration: Duration, calls_per_s: u64, batch: u32) -> Arrivals {
        let calls = u128::from(calls_per_s).saturating_mul(duration.as_nanos()) / SECOND_NS;
        let count = u64::try_from(calls / u128::from(batch)).unwrap_or(u64::MAX).max(1);
        Arrivals { calls_per_s: calls_per_s.max(1), batch, count }
    }

    /// When the last arrival is due.
    pub(super) fn length(&self) -> Duration {
        self.due(self.count - 1).unwrap_or_default()
    }

    /// When the arrival of this number is due, after the beginning; `None` if there are not so many.
    #[inline]
    pub(super) fn due(&self, number: u64) -> Option<Duration> {
        if number >= self.count {
            return None;
        }
        let ns = u128::from(number) * u128::from(self.batch) * SECOND_NS / u128::from(self.calls_per_s);
        Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_even_and_do_not_drift() {
        let arrivals = Arrivals::within(Duration::from_secs(3), 7_000, 16);
        assert_eq!(arrivals.count, 1_312);
        assert_eq!(arrivals.due(0), Some(Duration::ZERO));
        assert_eq!(arrivals.due(7), Some(Duration::from_millis(16)));
        assert_eq!(arrivals.due(1_311), Some(Duration::from_nanos(2_996_571_428)));
        assert_eq!(arrivals.due(1_312), None);
    }

    #[test]
    fn the_calls_of_a_second_are_the_rate() {
        for (rate, batch) in [(1, 1), (127_376, 1), (1_542_993, 16), (3_000_000, 64)] {
            let arrivals = Arrivals::within(Duration::from_secs(1), rate, batch);
            assert_eq!(arrivals.count, rate / u64::from(batch), "{rate}");
            assert!(arrivals.due(arrivals.count - 1).unwrap() < Duration::from_secs(1));
        }
    }

    #[test]
    fn the_slowest_has_one_arrival_and_the_fastest_does_not_overflow() {
        assert_eq!(Arrivals::within(Duration::from_millis(1), 0, 64), Arrivals { calls_per_s: 1, batch: 64, count: 1 });
        let endless = Arrivals::within(Duration::MAX, u64::MAX, 1);
        assert_eq!(endless.count, u64::MAX);
        assert!(endless.due(u64::MAX - 1) > endless.due(u64::MAX - 1_000_000_000_000));
    }
}
