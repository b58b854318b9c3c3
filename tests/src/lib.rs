//! Tests of tallyring as a whole, and what they need: an independent model of the engine's decisions, a herd of refused
//! callers, outages of real processes, and a RESP client.

pub mod herd;
pub mod model;
pub mod outage;
pub mod resp;
