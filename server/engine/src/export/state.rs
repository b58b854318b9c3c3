//! An algorithm's state in instants and counts, and how it is told from nonsense.

use crate::limit::Limit;
use crate::time::Timestamp;

pub use crate::algorithm::concurrency::Hold;
pub use crate::algorithm::sliding_log::block::Admitted;

/// What a counter holds, at the instant at which its batch was read, under its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A token or leaky bucket.
    Bucket {
        /// Tokens times the period in microseconds, so that no fraction is lost; below zero in debt.
        level: i128,
    },
    /// A fixed window.
    FixedWindow {
        /// The first microsecond since the epoch that is no longer in the window.
        end_us: u64,
        /// Units counted in it.
        count: u64,
    },
    /// A sliding log.
    SlidingLog {
        /// What was admitted in the last period, oldest first, one entry an instant.
        admitted: Vec<Admitted>,
    },
    /// A sliding counter.
    SlidingCounter {
        /// The microsecond since the epoch at which the current window began.
        start_us: u64,
        /// Units counted in the current window.
        current: u64,
        /// Units counted in the window before it.
        previous: u64,
    },
    /// Slots.
    Concurrency {
        /// Who holds what, by the end of their time, earliest first.
        holds: Vec<Hold>,
    },
}

impl State {
    /// Instants and holders in it: what reading it costs, beside a fixed part.
    pub(crate) fn weight(&self) -> usize {
        match self {
            State::Bucket { .. } | State::FixedWindow { .. } | State::SlidingCounter { .. } => 0,
            State::SlidingLog { admitted } => admitted.len(),
            State::Concurrency { holds } => holds.len(),
        }
    }
}

/// What no engine writes: the part that is out of its bounds, for whoever looks for the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl Malformed {
    /// Nothing, if the state is as an engine leaves it.
    pub(crate) fn unless(sound: bool, what: &'static str) -> Result<(), Malformed> {
        if sound { Ok(()) } else { Err(Malformed(what)) }
    }

    /// State of another algorithm than the limit's.
    pub(crate) const ALGORITHM: Malformed = Malformed("a state's algorithm");
}

/// A counter that can be told in instants and counts, and made from them.
pub(crate) trait Portable: Sized {
    /// The state, as of the instant that the counter stands at.
    fn export(&self) -> State;
    /// The counter that stands at `at` with that state under `limit`.
    fn import(state: &State, limit: &Limit, at: Timestamp) -> Result<Self, Malformed>;
    /// Heap bytes that the counter brings along.
    fn heap_bytes(&self) -> usize {
        0
    }
}
