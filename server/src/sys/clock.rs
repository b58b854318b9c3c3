//! Time. One reading serves a whole turn; the engine below never asks.

mod line;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use self::line::{Line, Pace, SLEW_PPM_MAX};
#[cfg(not(feature = "sim"))]
use self::os::Boot;
#[cfg(feature = "sim")]
use self::sim::Boot;
#[cfg(feature = "sim")]
pub use self::sim::Machine;

/// The node's clock: the time elapsed since boot, suspend included, along a [`Line`] that somebody may bend.
///
/// It does not follow steps of the wall clock: a limiter whose clock jumps forward forgets what it counted. The clones of
/// a clock are one clock. While it is steered, two threads may disagree for a moment about the last microsecond; each
/// shard keeps the latest instant that it saw.
#[derive(Clone, Debug)]
pub struct Clock {
    boot: Boot,
    line: Arc<ArcSwap<Line>>,
}

impl Clock {
    /// Starts a clock at wall time.
    pub fn start() -> Clock {
        let boot = Boot::start();
        Clock::along(boot, Line::new(boot.elapsed_us(), boot.wall_us().unwrap_or(0)))
    }

    fn along(boot: Boot, line: Line) -> Clock {
        Clock { boot, line: Arc::new(ArcSwap::from_pointee(line)) }
    }

    /// Microseconds since the Unix epoch.
    #[inline]
    pub fn now_us(&self) -> u64 {
        self.line.load().at(self.boot_us())
    }

    /// Microseconds since boot: nobody steers them, so that they measure what has passed here.
    #[inline]
    pub fn boot_us(&self) -> u64 {
        self.boot.elapsed_us()
    }

    /// What the system says that the time is, in microseconds since the Unix epoch; `None` for a clock that is set by
    /// hand, which is right by definition.
    pub fn wall_us(&self) -> Option<u64> {
        self.boot.wall_us()
    }

    /// How it runs now.
    pub fn line(&self) -> Line {
        **self.line.load()
    }

    /// Has it run along another line from now on.
    pub fn steer(&self, line: Line) {
        self.line.store(Arc::new(line));
    }
}

#[cfg(not(feature = "sim"))]
#[allow(clippy::disallowed_methods, reason = "this is the seam that the ban points to")]
mod os {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, SystemTime};

    use rustix::time::{ClockId, clock_gettime};

    use super::{Clock, Line};

    /// Where elapsed time comes from.
    #[derive(Clone, Copy, Debug)]
    pub(super) enum Boot {
        System,
        Hand(&'static AtomicU64),
    }

    impl Clock {
        /// A clock that shows the microseconds since the Unix epoch that somebody else sets: a test replays a trace.
        pub fn set_by_hand(now_us: &'static AtomicU64) -> Clock {
            Clock::along(Boot::Hand(now_us), Line::new(0, 0))
        }
    }

    impl Boot {
        pub(super) fn start() -> Boot {
            Boot::System
        }

        #[inline]
        pub(super) fn elapsed_us(self) -> u64 {
            match self {
                Boot::System => since_boot_us(),
                Boot::Hand(now_us) => now_us.load(Ordering::Acquire),
            }
        }

        pub(super) fn wall_us(self) -> Option<u64> {
            match self {
                Boot::System => {
                    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
                    u64::try_from(wall.as_micros()).ok()
                }
                Boot::Hand(_) => None,
            }
        }
    }

    fn since_boot_us() -> u64 {
        let elapsed = clock_gettime(ClockId::Boottime);
        u64::try_from(elapsed.tv_sec * 1_000_000 + elapsed.tv_nsec / 1_000).unwrap_or(0)
    }
}

#[cfg(feature = "sim")]
mod sim {
    use parking_lot::Mutex;

    use super::{Clock, Line};

    /// The simulation's clock, which moves when the simulation does; or that of a machine whose clock is wrong.
    #[derive(Clone, Copy, Debug)]
    pub(super) enum Boot {
        Right,
        Of(&'static Machine),
    }

    /// A machine whose clock is wrong. It goes on while its node is down.
    #[derive(Debug)]
    pub struct Machine(Mutex<Run>);

    /// How it runs since its pace changed last.
    #[derive(Clone, Copy, Debug)]
    struct Run {
        since_us: u64,
        elapsed_us: u64,
        wrong_ppm: i64,
        wall_ahead_us: i64,
    }

    /// An arbitrary instant of 2023: traces must not depend on the day they are made.
    const STARTED_US: u64 = 1_700_000_000_000_000;

    impl Machine {
        /// A machine whose wall clock is ahead by so much.
        pub fn ahead_by(wall_ahead_us: i64) -> Machine {
            Machine(Mutex::new(Run { since_us: 0, elapsed_us: 0, wrong_ppm: 0, wall_ahead_us }))
        }

        /// From now on, `true_us` after the beginning, it counts time wrongly by so many parts per million.
        pub fn run_wrong_by(&self, wrong_ppm: i64, true_us: u64) {
            let mut run = self.0.lock();
            *run = Run { since_us: true_us, elapsed_us: run.elapsed_us_at(true_us), wrong_ppm, ..*run };
        }

        /// Somebody sets its wall clock forward by so much; or, negative, back.
        pub fn step_wall(&self, by_us: i64) {
            self.0.lock().wall_ahead_us += by_us;
        }
    }

    impl Run {
        fn elapsed_us_at(&self, true_us: u64) -> u64 {
            let passed_us = true_us.saturating_sub(self.since_us);
            let wrong_us = i128::from(passed_us) * i128::from(self.wrong_ppm) / 1_000_000;
            self.elapsed_us + passed_us.saturating_add_signed(i64::try_from(wrong_us).expect("clocks are not so wrong"))
        }
    }

    impl Clock {
        /// The clock of a machine, which a node starts at its wall time.
        pub fn of(machine: &'static Machine) -> Clock {
            let boot = Boot::Of(machine);
            Clock::along(boot, Line::new(boot.elapsed_us(), boot.wall_us().unwrap_or(0)))
        }
    }

    impl Boot {
        pub(super) fn start() -> Boot {
            Boot::Right
        }

        pub(super) fn elapsed_us(self) -> u64 {
            match self {
                Boot::Right => elapsed_us(),
                Boot::Of(machine) => machine.0.lock().elapsed_us_at(elapsed_us()),
            }
        }

        pub(super) fn wall_us(self) -> Option<u64> {
            let ahead_us = match self {
                Boot::Right => 0,
                Boot::Of(machine) => machine.0.lock().wall_ahead_us,
            };
            (STARTED_US + self.elapsed_us()).checked_add_signed(ahead_us)
        }
    }

    /// True time, which no machine knows.
    fn elapsed_us() -> u64 {
        let elapsed = turmoil::sim_elapsed().unwrap_or_default();
        u64::try_from(elapsed.as_micros()).expect("no simulation runs for centuries")
    }
}
