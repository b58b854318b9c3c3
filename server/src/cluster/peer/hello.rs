//! Who is calling, and whether the call is taken.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use tallyring_protocol::NodeId;
use tokio::sync::watch;

use super::PEER_VERSION;
use crate::cluster::control::Standing;
use crate::cluster::control::change::ClusterId;
use crate::cluster::control::member::NodeKey;
use crate::cluster::control::raft::store::Identity;
use crate::cluster::control::state::{FEATURE_LEVEL, State};
use crate::entrance::tls::Certificates;
use crate::observe::control::{ControlTally, PeerRefusal};
use crate::sys::defect::{self, Defect};
use crate::tokens::LiveTokens;

/// A node says who it is, and whom it means to call.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PEER_VERSION`] of the caller.
    pub version: u16,
    /// The caller's cluster; `None` = it is in none yet.
    pub cluster: Option<ClusterId>,
    /// Who calls.
    pub from: NodeId,
    /// Who is meant; `None` = whoever is there.
    pub to: Option<NodeId>,
    /// The highest feature level that the caller's program knows.
    pub feature_level: u16,
    /// The secret of nodes; empty where none is asked for.
    pub token: String,
    /// The caller's key.
    pub key: NodeKey,
    /// What is to follow.
    pub purpose: Purpose,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// Questions of the control plane, one at a time.
    Control,
    /// Errands of doors, many at a time.
    Errands,
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hello { version, cluster, from, to, feature_level, token: _, key: _, purpose } = self;
        write!(f, "Hello {{ version: {version}, cluster: {cluster:?}, from: {from:?}, to: {to:?}, ")?;
        write!(f, "feature_level: {feature_level}, token: .., purpose: {purpose:?} }}")
    }
}

/// What a hello is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Greeting {
    /// Ask.
    Welcome {
        /// Who has answered.
        node: NodeId,
        /// The highest feature level that its program knows.
        feature_level: u16,
    },
    /// The connection ends.
    Refused(Rejection),
}

/// Why a call is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Rejection {
    /// The secret is none of the valid ones.
    #[error("the peer token is not valid there")]
    Token,
    /// The programs are too far apart.
    #[error("it speaks version {theirs} of the peer protocol, this program {ours}: upgrade one version at a time")]
    Version {
        /// The caller's.
        ours: u16,
        /// The version of who refuses.
        theirs: u16,
    },
    /// The caller belongs elsewhere.
    #[error(
        "it is of cluster {theirs}, this node's data folder of cluster {ours}: give another --join or another --data"
    )]
    OtherCluster {
        /// The caller's.
        ours: ClusterId,
        /// The cluster of who refuses.
        theirs: ClusterId,
    },
    /// Somebody else lives at this address.
    #[error("node {} is there, not node {}", is.0, meant.0)]
    OtherNode {
        /// Who was meant.
        meant: NodeId,
        /// Who is there.
        is: NodeId,
    },
    /// The caller has the number of who refuses.
    #[error("it is node {} itself: give this node another --node-id", id.0)]
    SameNode {
        /// The number.
        id: NodeId,
    },
    /// The caller's program is too old.
    #[error(
        "the cluster is at feature level {cluster}, this node's program knows levels up to {node}: upgrade it first"
    )]
    TooOld {
        /// The cluster's level.
        cluster: u16,
        /// What the caller's program knows.
        node: u16,
    },
    /// The caller was a member once.
    #[error("this node has left the cluster: to come back, it needs a new --data folder and --join")]
    Left,
    /// The caller does not encrypt.
    #[error("it takes calls over TLS alone: give this node --tls-cert, --tls-key and --tls-ca")]
    Plain,
    /// Who is called is in no cluster.
    #[error("node {} has an empty data folder and was not taken into the cluster yet", id.0)]
    NotTakenIn {
        /// Its number.
        id: NodeId,
    },
}

impl Rejection {
    /// What it is counted as.
    pub fn kind(&self) -> PeerRefusal {
        match self {
            Rejection::Token => PeerRefusal::Token,
            Rejection::Version { .. } | Rejection::TooOld { .. } => PeerRefusal::Version,
            Rejection::OtherCluster { .. } => PeerRefusal::Cluster,
            Rejection::OtherNode { .. } | Rejection::SameNode { .. } | Rejection::NotTakenIn { .. } => {
                PeerRefusal::Node
            }
            Rejection::Left => PeerRefusal::Left,
            Rejection::Plain => PeerRefusal::Tls,
        }
    }
}

/// Who this node is, for hellos in both directions.
#[derive(Clone, Debug)]
pub struct Introduction {
    /// Its number and key.
    pub identity: Identity,
    /// Its secret.
    pub token: Arc<str>,
    /// The secrets that are valid here.
    pub tokens: Arc<LiveTokens>,
    /// What it knows of its cluster.
    pub states: watch::Receiver<Arc<State>>,
    /// Who votes, as it knows.
    pub standings: watch::Receiver<Standing>,
    /// How it agrees on keys with others; `None` = nothing is encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// Whether a cluster has taken this node in, as which it is known by its key.
    pub is_taken_in: Arc<AtomicBool>,
    /// Whether this node was told that it is no member any more.
    pub dismissed: Arc<watch::Sender<bool>>,
    /// What is counted of refusals.
    pub tally: Arc<ControlTally>,
}

impl Introduction {
    fn is_taken_in(&self) -> bool {
        self.is_taken_in.load(Ordering::Acquire) || defect::has(Defect::VotesInPlaceOfAnother)
    }

    /// The hello to `to`.
    pub fn hello(&self, to: Option<NodeId>, purpose: Purpose) -> Hello {
        Hello {
            version: PEER_VERSION,
            cluster: self.states.borrow().cluster().map(|cluster| cluster.id),
            from: self.identity.node,
            to,
            feature_level: FEATURE_LEVEL,
            token: self.token.to_string(),
            key: self.identity.key,
            purpose,
        }
    }

    /// What a hello is answered with, each reason a comparison.
    ///
    /// A node in no cluster yet takes calls of one once it was taken in. Until then whoever calls takes it for another one:
    /// for its former self, whose disk is lost, and which must not vote again having forgotten what it promised.
    pub fn greet(&self, hello: &Hello) -> Greeting {
        let refused = |reason| Greeting::Refused(reason);
        let state = self.states.borrow();
        let node = self.identity.node;
        if !self.tokens.accepts_peer(&hello.token) {
            return refused(Rejection::Token);
        }
        if hello.version != PEER_VERSION {
            return refused(Rejection::Version { ours: hello.version, theirs: PEER_VERSION });
        }
        if let Some((ours, cluster)) = hello.cluster.zip(state.cluster()).filter(|(ours, cluster)| *ours != cluster.id)
        {
            return refused(Rejection::OtherCluster { ours, theirs: cluster.id });
        }
        if let Some(meant) = hello.to.filter(|meant| *meant != node) {
            return refused(Rejection::OtherNode { meant, is: node });
        }
        if hello.from == node {
            return refused(Rejection::SameNode { id: node });
        }
        if hello.cluster.is_some() && state.cluster().is_none() && !self.is_taken_in() {
            return refused(Rejection::NotTakenIn { id: node });
        }
        // A leader that leaves has to be heard until others vote in its place, or nobody would lead.
        if state.has_left(hello.key) && !self.standings.borrow().voters.contains(&hello.from) {
            return refused(Rejection::Left);
        }
        if hello.feature_level < state.feature_level() {
            return refused(Rejection::TooOld { cluster: state.feature_level(), node: hello.feature_level });
        }
        Greeting::Welcome { node, feature_level: FEATURE_LEVEL }
    }
}

#[cfg(test)]
mod tests;
