//! Who is in the cluster. A node is a cluster of one so far: it owns every placement.

pub mod gateways;
pub mod view;
