//! Time: one monotonic clock, tokio's, which a simulation or a test may hold still.

use tallyring_engine::Timestamp;
pub(crate) use tokio::time::Instant;

/// The present.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Turns readings of the monotonic clock into microseconds since the Unix epoch.
///
/// The wall is read once, at the start: later steps of the machine's clock cannot refill or empty a local bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    start: Instant,
    start_us: u64,
}

impl WallClock {
    /// Reads both clocks.
    pub(crate) fn start() -> WallClock {
        WallClock { start: now(), start_us: wall_us() }
    }

    /// The wall's time at `now`.
    pub(crate) fn at(&self, now: Instant) -> Timestamp {
        let elapsed_us = now.saturating_duration_since(self.start).as_micros();
        Timestamp::from_micros(self.start_us.saturating_add(u64::try_from(elapsed_us).unwrap_or(u64::MAX)))
    }
}

/// The wall's time as it is now: for dates that others write or read, never to measure.
#[cfg(feature = "tower")]
pub(crate) fn wall() -> std::time::SystemTime {
    std::time::UNIX_EPOCH + std::time::Duration::from_micros(wall_us())
}

/// The wall's time as it is now, in microseconds since the Unix epoch.
#[cfg(not(feature = "sim"))]
pub(crate) fn wall_us() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "the one place where the wall clock is read")]
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_epoch.map_or(0, |elapsed| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

/// In a simulation every process starts at the same instant, 2020-09-13 12:26:40 UTC.
#[cfg(feature = "sim")]
pub(crate) fn wall_us() -> u64 {
    1_600_000_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn wall_time_follows_the_monotonic_clock() {
        let clock = WallClock { start: now(), start_us: 50 };
        assert_eq!(clock.at(clock.start).as_micros(), 50);
        assert_eq!(clock.at(clock.start + Duration::from_micros(7)).as_micros(), 57);
        assert_eq!(clock.at(clock.start - Duration::from_micros(7)).as_micros(), 50);
    }
}
