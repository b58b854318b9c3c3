//! Cluster time: how the clocks of all nodes come to show the same, and keep doing so.
//!
//! A node's clock is the time since its boot along a line ([`Line`](crate::sys::clock::Line)). One node, the leader, bends its line towards wall
//! time; the others bend theirs towards the leader's clock, which they ask as often as they renew their leases. Nobody's
//! clock goes back, and nobody's runs more than [`SLEW_PPM_MAX`](crate::sys::clock::SLEW_PPM_MAX) beside its own pace.
//!
//! An answer bounds what the leader's clock shows: it was read after the question left and before the answer came. A
//! follower that is within these bounds changes nothing, since nobody could tell that it is wrong; one that is not makes
//! the smallest change that brings it there. The same holds for its pace, which two answers bound that lie some seconds
//! apart: a clock that runs up to a percent wrong is compensated, and one that runs right is left alone.
//!
//! ```text
//!             asked          answered            after a while, of two nodes with clocks within 1 %:
//! follower ─────┼───────────────┼─────────►      │clock − leader's│ ≤ 2 × round trip + 1 ms
//!                ╲             ╱
//! leader   ───────╲───────────╱────────────►     a follower found within the bounds is left alone
//!                   it is 12:00
//! ```
//!
//! Pure, but for [`Timekeeper`]: readings are handed in.

mod sample;
mod steering;

use parking_lot::Mutex;

pub use self::sample::{ROUND_TRIP_US_MAX, Sample};
pub use self::steering::{Deviation, STEP_US_MIN, Steering};
use crate::sys::clock::Clock;

/// Steers the node's clock, and remembers how far off it was.
#[derive(Debug)]
pub struct Timekeeper {
    clock: Clock,
    steering: Mutex<Steering>,
}

impl Timekeeper {
    /// A keeper of this clock, which runs on as it does until it is told more.
    pub fn new(clock: Clock) -> Timekeeper {
        let steering = Mutex::new(Steering::new(clock.line()));
        Timekeeper { clock, steering }
    }

    /// The clock that it steers.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// This node leads, or is alone: its clock slews towards wall time. To be called about once a second.
    pub fn lead(&self) {
        if let Some(wall_us) = self.clock.wall_us() {
            self.change(|steering, boot_us| steering.lead(boot_us, wall_us));
        }
    }

    /// Another node leads, and has answered. `term` tells one leadership from another.
    pub fn follow(&self, term: u64, sample: Sample) {
        self.change(|steering, _| steering.follow(term, sample));
    }

    /// Begins at the leader's time, wherever the clock was: only for a node that has not served anybody yet.
    pub fn begin(&self, term: u64, sample: Sample) {
        self.change(|steering, _| steering.begin(term, sample));
    }

    /// How far off the clock was when it was last compared.
    pub fn deviation(&self) -> Deviation {
        self.steering.lock().deviation()
    }

    fn change(&self, change: impl FnOnce(&mut Steering, u64)) {
        let mut steering = self.steering.lock();
        change(&mut steering, self.clock.boot_us());
        self.clock.steer(*steering.line());
    }
}

#[cfg(test)]
mod tests;
