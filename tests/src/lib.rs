//! Tests of tallyring as a whole, and what they need: an independent model of the engine's decisions, a herd of refused
//! callers, a node or a cluster of one's own, outages and elections of real processes, a RESP client, and the simulation
//! of a whole cluster.

pub mod cluster;
pub mod herd;
pub mod leader_load;
pub mod local;
pub mod model;
pub mod outage;
pub mod resp;
#[cfg(feature = "sim")]
pub mod sim;
