//! Who is in the cluster, who owns what, what time it is, and which rules are live: agreed on by the nodes, one change after
//! the other.
//!
//! `control` is what they agree on and how, and `peer` what they say to each other meanwhile; `errand` takes to other nodes
//! what is about their keys; `pulse` is how nodes hear of each other's clocks and gateways; `time` is how their clocks come
//! to show the same; `lease` is how long an owner may decide by itself; `replica` is how the next node on the ring comes to
//! know what the owner counts; `view` is what this node tells its clients of it; `status` is what it tells people.

pub mod control;
pub mod errand;
pub mod gateways;
pub mod heard;
pub mod lease;
pub mod peer;
pub mod pulse;
pub mod replica;
pub mod status;
pub mod time;
pub mod view;
