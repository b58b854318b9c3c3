//! Seeing: what a node tells about itself.

pub mod clock;
pub mod control;
pub mod door;
pub mod errand;
pub mod histogram;
pub mod local;
pub mod metrics;
pub mod reload;
