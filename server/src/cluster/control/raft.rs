//! How the nodes agree: openraft, over a log on the disk and a network of peers.
//!
//! What is written is on the disk when a call returns: a vote before it is given, an entry before it is acknowledged, a
//! snapshot before the entries behind it go. So a node that is killed at any instant remembers what it promised.

pub mod log;
pub mod machine;
pub mod network;
pub mod runtime;
pub mod store;

use std::io::Cursor;

use super::change::Change;
use super::outcome::Outcome;

openraft::declare_raft_types!(
    /// What openraft is told about us.
    pub Types:
        D = Change,
        R = Outcome,
        NodeId = u64,
        Node = openraft::BasicNode,
        Entry = openraft::Entry<Types>,
        SnapshotData = Cursor<Vec<u8>>,
        AsyncRuntime = runtime::Runtime,
);

/// An entry of the log.
pub type Entry = openraft::Entry<Types>;

/// Where an entry stands in the log.
pub type LogId = openraft::LogId<u64>;

/// Whom a node has promised its vote.
pub type Vote = openraft::Vote<u64>;

/// Whose votes count, and where the log says so.
pub type Membership = openraft::StoredMembership<u64, openraft::BasicNode>;

/// What is known of a snapshot besides its bytes.
pub type SnapshotMeta = openraft::SnapshotMeta<u64, openraft::BasicNode>;

/// A disk that does not do its duty.
pub type StorageError = openraft::StorageError<u64>;

/// openraft, with our types.
pub type Raft = openraft::Raft<Types>;
