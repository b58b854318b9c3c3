//! What became of a change.

use serde::{Deserialize, Serialize};
use tallyring_protocol::NodeId;
use tallyring_protocol::bounds::NODES_MAX;
use tallyring_protocol::topology::WEIGHTS_SUM_MAX;

use super::change::ClusterId;

/// What became of a change. Every node comes to the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// An entry that was none of ours: the log's own.
    Nothing,
    /// The members are as the change wants them.
    Done {
        /// The epoch of the ring from now on.
        epoch: u64,
    },
    /// The rules are as the change wants them.
    Published {
        /// When the history of the rules began, in microseconds since the Unix epoch.
        lineage: u64,
        /// Which version is live.
        version: u64,
        /// Whether it is another than before: the same text again is not.
        is_new: bool,
    },
    /// Nothing has changed.
    Refused(Refusal),
}

/// Why nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// It is a cluster already.
    #[error("this is cluster {cluster} already")]
    Founded {
        /// Which one.
        cluster: ClusterId,
    },
    /// There is no cluster yet.
    #[error("there is no cluster yet: nobody has founded it")]
    NotFounded,
    /// The change breaks a rule that all members keep.
    #[error("{rule}")]
    Malformed {
        /// The field and what is allowed.
        rule: String,
    },
    /// Two nodes were given the same number.
    #[error(
        "node {} is a member already, from another data folder: give this one another --node-id, or let the old one leave",
        id.0
    )]
    DuplicateId {
        /// The number.
        id: NodeId,
    },
    /// The node's program is too old.
    #[error(
        "the cluster is at feature level {cluster}, this node's program knows levels up to {node}: upgrade it first"
    )]
    TooOld {
        /// The cluster's level.
        cluster: u16,
        /// What the program knows.
        node: u16,
    },
    /// There are as many members as there may be.
    #[error("a cluster has at most {NODES_MAX} members")]
    ClusterFull,
    /// All weights together are over their bound.
    #[error("weight: at most {WEIGHTS_SUM_MAX} over all members")]
    TooHeavy,
    /// Nobody of that number is a member.
    #[error("node {} is not a member", id.0)]
    NotAMember {
        /// The number.
        id: NodeId,
    },
    /// Nobody would be left.
    #[error("node {} is the last member: stop it instead", id.0)]
    LastMember {
        /// The number.
        id: NodeId,
    },
    /// Nobody would own anything.
    #[error("node {} is the last one with a weight: give another one some first", id.0)]
    LastWeight {
        /// The number.
        id: NodeId,
    },
    /// A member's program does not know the level.
    #[error("node {}'s program knows feature levels up to {knows}: upgrade it first", id.0)]
    NotEverybody {
        /// The member.
        id: NodeId,
        /// What its program knows.
        knows: u16,
    },
    /// Levels only rise.
    #[error("the cluster is at feature level {cluster} already, and levels only rise")]
    NoRise {
        /// The cluster's level.
        cluster: u16,
    },
    /// Something else is live than the author of the rules believed.
    #[error("version {version} of the rules is live")]
    Conflict {
        /// When the history of the rules began, in microseconds since the Unix epoch.
        lineage: u64,
        /// What is live.
        version: u64,
    },
    /// Too few of who would vote then can be reached: nothing could be agreed on any more.
    #[error("without node {}, {alive} of {voters} voters can be reached, which is no majority: start the others first", id.0)]
    NoQuorum {
        /// The member that was to leave.
        id: NodeId,
        /// Voters that have answered lately.
        alive: usize,
        /// All of them.
        voters: usize,
    },
    /// The text of the rules cannot be unpacked.
    #[error("the text of the rules is damaged")]
    Damaged,
    /// The node has left for good.
    #[error("node {} has left this cluster: to come back, it needs a new --data folder and --join", id.0)]
    Left {
        /// Its number.
        id: NodeId,
    },
    /// The cluster is one node that keeps nothing on a disk.
    #[error("node {} keeps nothing on a disk, so nobody can join it: start it with --data first", id.0)]
    Forgetful {
        /// Its number.
        id: NodeId,
    },
}
