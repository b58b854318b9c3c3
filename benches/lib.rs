//! Shared fixtures of the micro benchmarks.
