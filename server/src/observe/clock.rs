//! How far off the node's clock is, where metrics read it.

use std::sync::atomic::{AtomicI64, Ordering};

/// The last comparison of the node's clock with what it follows.
#[derive(Debug, Default)]
pub struct ClockGauge {
    behind_us: AtomicI64,
}

impl ClockGauge {
    /// It was found to be so many microseconds behind; negative = ahead.
    pub fn note(&self, behind_us: i64) {
        self.behind_us.store(behind_us, Ordering::Relaxed);
    }

    /// How many microseconds it was behind.
    pub fn behind_us(&self) -> i64 {
        self.behind_us.load(Ordering::Relaxed)
    }
}
