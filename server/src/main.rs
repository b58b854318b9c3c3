//! The tallyring binary.
fn main() {}
