//! Bugs that are put back in, to show that the simulation finds them.

use tallyring::sys::defect::{self, Defect};

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// What is said to be on the disk is not, until some time later.
    UnsyncedWrites,
    /// One of the program's.
    Program(Defect),
}

/// The bugs by their names, for the command line.
pub const NAMES: &[(&str, Bug)] = &[
    ("unsynced-writes", Bug::UnsyncedWrites),
    ("applies-twice", Bug::Program(Defect::AppliesTwice)),
    ("votes-in-place-of-another", Bug::Program(Defect::VotesInPlaceOfAnother)),
];

/// Puts a bug of the program's in for one simulation.
pub(super) fn put_in(bug: Option<Bug>) {
    defect::put_in(match bug {
        Some(Bug::Program(defect)) => Some(defect),
        _ => None,
    });
}
