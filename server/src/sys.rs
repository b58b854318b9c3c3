//! The seams: the only files that touch the operating system's clock, sockets' types, threads and entropy; and how files that
//! somebody names are opened.
//!
//! With the feature `sim` turmoil stands in here, so that a whole cluster runs on one thread, on a virtual clock, over a
//! network that a test can cut, and gives the same trace from the same seed. Everything above is the same code in both.

pub mod clock;
pub mod defect;
pub mod file;
pub mod net;
pub mod random;
pub mod spawn;
