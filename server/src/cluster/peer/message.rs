//! What a node may ask another one, and the answers. The order of variants is the encoding: a new one comes last.

use openraft::error::{InstallSnapshotError, RaftError};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use serde::{Deserialize, Serialize};
use tallyring_protocol::NodeId;

use crate::cluster::control::change::Change;
use crate::cluster::control::outcome::Outcome;
use crate::cluster::control::raft::Types;
use crate::cluster::gateways::census::Census;

/// A question.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// The leader's log goes on like this; without entries: I am still here.
    Append(AppendEntriesRequest<Types>),
    /// Will you vote for me?
    Vote(VoteRequest<u64>),
    /// A piece of a snapshot, for who is too far behind for the log.
    Snapshot(InstallSnapshotRequest<Types>),
    /// Let everybody agree on this.
    Propose(Change),
    /// I am here, and these gateways are connected to me. What time is it, and which are connected to you?
    Pulse(Census),
}

/// An answer, of the same name as its question.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Ask::Append`].
    Append(Result<AppendEntriesResponse<u64>, RaftError<u64>>),
    /// To [`Ask::Vote`].
    Vote(Result<VoteResponse<u64>, RaftError<u64>>),
    /// To [`Ask::Snapshot`].
    Snapshot(Result<InstallSnapshotResponse<u64>, RaftError<u64, InstallSnapshotError>>),
    /// To [`Ask::Propose`].
    Propose(Proposed),
    /// To [`Ask::Pulse`].
    Pulse(Vital),
}

/// What became of a proposal at the node that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proposed {
    /// A quorum holds it, and this is what became of it.
    Agreed(Outcome),
    /// Ask the leader, if anybody knows one.
    NotLeader(Option<Whereabouts>),
    /// Nobody knows what will become of it: ask again, under the same id.
    Unknown,
}

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vital {
    /// What its clock shows, in microseconds since the Unix epoch.
    pub now_us: u64,
    /// The gateways that are connected to it.
    pub census: Census,
}

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whereabouts {
    /// Its number.
    pub node: NodeId,
    /// Where it takes calls of other nodes, as `host:port`.
    pub address: String,
}
