//! Seeing: what a node tells about itself.

pub mod metrics;
