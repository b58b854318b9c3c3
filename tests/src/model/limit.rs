//! The numbers of a limit, and how they cut time into windows.

use std::ops::Range;

use super::calendar::{self, Calendar};
use super::{Micros, Units};

/// How units are counted; `gcra` is read as its other name, `TokenBucket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Algorithm {
    TokenBucket,
    LeakyBucket,
    FixedWindow,
    SlidingLog,
    SlidingCounter,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "token_bucket" | "gcra" => Some(Self::TokenBucket),
            "leaky_bucket" => Some(Self::LeakyBucket),
            "fixed_window" => Some(Self::FixedWindow),
            "sliding_log" => Some(Self::SlidingLog),
            "sliding_counter" => Some(Self::SlidingCounter),
            _ => None,
        }
    }

    pub(super) fn has_burst(self) -> bool {
        matches!(self, Self::TokenBucket | Self::LeakyBucket)
    }
}

/// How long the limit's units are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Period { period_us: Micros },
    Calendar(Calendar),
}

/// The numbers of a limit. Two calls have "other numbers" when these differ; a burst left out is the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) algorithm: Algorithm,
    pub(super) limit: Units,
    pub(super) window: Window,
    pub(super) burst: Option<Units>,
}

impl Limit {
    /// The most that can ever be free at once, which a decision shows as `limit`.
    pub(super) fn ceiling(&self) -> Units {
        self.burst.unwrap_or(self.limit)
    }

    /// The W of the semantics. A calendar has none, and only the fixed window knows calendars.
    pub(super) fn period_us(&self) -> Micros {
        match self.window {
            Window::Period { period_us } => period_us,
            Window::Calendar(calendar) => unreachable!("{calendar:?} windows have no single length"),
        }
    }

    /// The window `[start, end)` that holds the instant `t_us`.
    pub(super) fn window_at(&self, t_us: Micros) -> Range<Micros> {
        match self.window {
            Window::Period { period_us } => {
                let start_us = t_us - t_us.rem_euclid(period_us);
                start_us..start_us + period_us
            }
            Window::Calendar(calendar) => calendar::window_at(calendar, t_us),
        }
    }
}
