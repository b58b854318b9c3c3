//! Seeing: what a node tells about itself.

pub mod door;
pub mod histogram;
pub mod metrics;
pub mod reload;
