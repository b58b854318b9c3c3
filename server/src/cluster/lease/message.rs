//! What owners and their leader say to each other about leases.

use serde::{Deserialize, Serialize};

use super::length::Length;

/// An owner asks for a lease. When it did is its own affair: no instant travels, so nobody can take one clock for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Drawn at random by each start of a node.
    pub tenure: u64,
    /// Which of its questions; the answer repeats it.
    pub number: u64,
    /// The longest lease that it knows how to hold.
    pub length: Length,
}

/// What the leader says to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whose question it answers: an answer to an earlier start of the node is none to this one.
    pub tenure: u64,
    /// And which.
    pub number: u64,
    /// A lease, or the reason why not.
    pub outcome: Result<Grant, Refusal>,
}

/// A lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Whoever holds it decides only under a topology of this epoch or a later one.
    pub epoch: u64,
    /// The shorter one of what was asked for and what the leader grants.
    pub length: Length,
    /// Nobody decides under an epoch before this one any more.
    pub settled: u64,
}

/// Why there is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// The leader may have been succeeded.
    #[error("no lease: the leader has not heard of a quorum lately")]
    NoQuorum,
    /// Only members own something.
    #[error("no lease: the node is not a member")]
    NotAMember,
    /// Its ranges are being given to its replica.
    #[error("no lease: the node is being marked down, its last lease is over")]
    Condemned,
    /// A node has one lease at a time, also across a restart.
    #[error("no lease: an earlier start of the node may still hold one")]
    Predecessor,
}

/// An owner has decided for the last time under any lease that its tenure was or will be answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiveBack {
    /// The tenure that is over.
    pub tenure: u64,
}
