//! The seams to the world: the only files of this crate that touch sockets, the operating system's clock and entropy.
//!
//! Under the feature `sim` the sockets are a simulation's and every number that looks random follows from a seed, so
//! that a run can be repeated exactly.

pub(crate) mod clock;
pub(crate) mod net;
pub(crate) mod random;
