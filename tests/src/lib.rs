//! Tests of tallyring as a whole, and what they need: an independent model of the engine's decisions, a herd of refused
//! callers, and a RESP client.

pub mod herd;
pub mod model;
pub mod resp;
