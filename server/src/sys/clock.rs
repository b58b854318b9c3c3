//! Time. One reading serves a whole turn; the engine below never asks.

#[cfg(not(feature = "sim"))]
pub use os::Clock;
#[cfg(feature = "sim")]
pub use sim::Clock;

#[cfg(not(feature = "sim"))]
#[allow(clippy::disallowed_methods, reason = "this is the seam that the ban points to")]
mod os {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, SystemTime};

    use rustix::time::{ClockId, clock_gettime};

    /// The node's clock: the elapsed time since boot, suspend included, plus the offset to wall time found at start.
    ///
    /// It does not follow steps of the wall clock: a limiter whose clock jumps forward forgets what it counted.
    #[derive(Clone, Copy, Debug)]
    pub struct Clock(Source);

    #[derive(Clone, Copy, Debug)]
    enum Source {
        Boot { offset_us: i64 },
        Hand(&'static AtomicU64),
    }

    impl Clock {
        /// Starts a clock at wall time.
        pub fn start() -> Clock {
            let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
            let wall_us = i64::try_from(wall.as_micros()).unwrap_or(0);
            Clock(Source::Boot { offset_us: wall_us - since_boot_us() })
        }

        /// A clock that shows the microseconds since the Unix epoch that somebody else sets: a test replays a trace.
        pub fn set_by_hand(now_us: &'static AtomicU64) -> Clock {
            Clock(Source::Hand(now_us))
        }

        /// Microseconds since the Unix epoch.
        pub fn now_us(&self) -> u64 {
            match self.0 {
                Source::Boot { offset_us } => u64::try_from(since_boot_us() + offset_us).unwrap_or(0),
                Source::Hand(now_us) => now_us.load(Ordering::Acquire),
            }
        }
    }

    fn since_boot_us() -> i64 {
        let elapsed = clock_gettime(ClockId::Boottime);
        elapsed.tv_sec * 1_000_000 + elapsed.tv_nsec / 1_000
    }
}

#[cfg(feature = "sim")]
mod sim {
    /// The simulation's clock, which moves when the simulation does.
    #[derive(Clone, Copy, Debug)]
    pub struct Clock;

    /// An arbitrary instant of 2023: traces must not depend on the day they are made.
    const STARTED_US: u64 = 1_700_000_000_000_000;

    impl Clock {
        /// Joins the simulation's clock.
        pub fn start() -> Clock {
            Clock
        }

        /// Microseconds since the Unix epoch.
        pub fn now_us(&self) -> u64 {
            let elapsed = turmoil::sim_elapsed().unwrap_or_default();
            STARTED_US + u64::try_from(elapsed.as_micros()).expect("no simulation runs for centuries")
        }
    }
}
