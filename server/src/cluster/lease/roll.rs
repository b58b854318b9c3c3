//! What the cluster has agreed on, as far as leases go.

use std::collections::BTreeMap;

use tallyring_protocol::NodeId;

use crate::cluster::control::member::Status;

/// Who is a member, and how each stands, as of one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// The epoch.
    pub epoch: u64,
    /// At most [`NODES_MAX`](tallyring_protocol::bounds::NODES_MAX).
    pub members: BTreeMap<NodeId, Status>,
}

impl Roll {
    /// Whether a node owns nothing: down, or no member. It was made so only after its lease was over.
    pub fn is_out(&self, node: NodeId) -> bool {
        matches!(self.members.get(&node), None | Some(Status::Down))
    }

    /// Whether a node is a member that the others do without.
    pub fn is_down(&self, node: NodeId) -> bool {
        self.members.get(&node) == Some(&Status::Down)
    }
}
