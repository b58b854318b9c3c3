//! What is counted of what nodes agree on, and of nodes that call each other.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a proposal of this node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// All nodes agreed on it.
    Agreed,
    /// All nodes agreed that they do not want it.
    Refused,
    /// No majority has answered in time.
    Unknown,
}

/// Why another node's call was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerRefusal {
    /// Its secret is none of the valid ones.
    Token,
    /// Its program is too far from this one.
    Version,
    /// It is of another cluster.
    Cluster,
    /// It meant another node, or says that it is this one.
    Node,
    /// It has left.
    Left,
    /// There was no place.
    Full,
    /// It spoke without TLS where there is some, or the other way round, or its certificate is not trusted.
    Tls,
}

impl Proposal {
    /// Every end.
    pub const ALL: [Proposal; 3] = [Proposal::Agreed, Proposal::Refused, Proposal::Unknown];

    /// Its name, in metrics.
    pub fn name(self) -> &'static str {
        ["agreed", "refused", "unknown"][self as usize]
    }
}

impl PeerRefusal {
    /// Every reason.
    pub const ALL: [PeerRefusal; 7] = [
        PeerRefusal::Token,
        PeerRefusal::Version,
        PeerRefusal::Cluster,
        PeerRefusal::Node,
        PeerRefusal::Left,
        PeerRefusal::Full,
        PeerRefusal::Tls,
    ];

    /// Its name, in metrics.
    pub fn name(self) -> &'static str {
        ["token", "version", "cluster", "node", "left", "full", "tls"][self as usize]
    }
}

/// The counts.
#[derive(Debug, Default)]
pub struct ControlTally {
    proposals: [AtomicU64; Proposal::ALL.len()],
    refusals: [AtomicU64; PeerRefusal::ALL.len()],
}

impl ControlTally {
    /// A proposal has ended.
    pub fn proposed(&self, end: Proposal) {
        self.proposals[end as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A call was not taken.
    pub fn refused(&self, reason: PeerRefusal) {
        self.refusals[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Proposals that have ended so.
    pub fn proposals(&self, end: Proposal) -> u64 {
        self.proposals[end as usize].load(Ordering::Relaxed)
    }

    /// Calls that were not taken for this reason.
    pub fn refusals(&self, reason: PeerRefusal) -> u64 {
        self.refusals[reason as usize].load(Ordering::Relaxed)
    }
}
