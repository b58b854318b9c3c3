//! Who is in the cluster, who owns what, and which rules are live: agreed on by the nodes, one change after the other.
//!
//! `control` is what they agree on and how; `view` is what this node tells its clients of it.

pub mod control;
pub mod gateways;
pub mod view;
