//! Tests of tallyring as a whole, and what they need: an independent model of the engine's decisions, a herd of refused
//! callers, a node or a cluster of one's own, outages and elections of real processes,
//! and a RESP client.

pub mod cluster;
pub mod herd;
pub mod leader_load;
pub mod local;
pub mod model;
pub mod outage;
pub mod resp;
