//! Tests of tallyring as a whole, and what they need: an independent model of the engine's decisions, and a herd of
//! refused callers.

pub mod herd;
pub mod model;
