//! Shared fixtures of the micro benchmarks: keys as they arrive, frames as they travel, a shard without its sockets, large
//! documents of rules, a gateway that asks nobody.
//!
//! `cargo bench -p tallyring-benches` measures time, `cargo run --release -p tallyring-benches --bin instructions` counts
//! instructions: the first says what a machine does with the code, the second what the code asks of any machine.

pub mod documents;
pub mod frames;
pub mod gateway;
pub mod keys;
pub mod resp;
pub mod shard;

/// Calls that are decided together: what a shard hashes and prefetches before it decides the first.
pub const BATCH: usize = 64;
