//! Defects that a simulation puts back in, to show that it finds them. Outside of simulations there are none.

#[cfg(feature = "sim")]
pub use self::sim::{has, put_in};

/// A defect that this program could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A change that is proposed again, because its answer was lost, is applied again.
    AppliesTwice,
    /// A node that has forgotten everything votes under the number of one that has left, before that one is struck.
    VotesInPlaceOfAnother,
}

/// Whether the program has this defect: it has none.
#[cfg(not(feature = "sim"))]
#[inline]
pub const fn has(_: Defect) -> bool {
    false
}

#[cfg(feature = "sim")]
mod sim {
    use std::cell::Cell;

    use super::Defect;

    thread_local! {
        /// A simulation is one thread.
        static PUT_IN: Cell<Option<Defect>> = const { Cell::new(None) };
    }

    /// Whether the program has this defect.
    pub fn has(defect: Defect) -> bool {
        PUT_IN.get() == Some(defect)
    }

    /// Puts a defect in, for all that this thread does from now on; or takes it out again.
    pub fn put_in(defect: Option<Defect>) {
        PUT_IN.set(defect);
    }
}
