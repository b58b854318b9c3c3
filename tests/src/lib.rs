//! Tests of tallyring as a whole, and what they need: an independent model of the engine's decisions.

pub mod model;
