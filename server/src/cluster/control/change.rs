//! A change: one entry of what the control plane agrees on.

use std::fmt;

use serde::{Deserialize, Serialize};
use tallyring_protocol::NodeId;

use super::member::{Member, Status};
use super::packed::Packed;
use crate::rules::edition::{AUTHOR_BYTES_MAX, COMMENT_BYTES_MAX, Label};
use crate::sys::random;

/// A change as it is proposed, ordered and applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its author proposes it under the same id again if no answer came.
    pub id: ChangeId,
    /// When it was proposed, in microseconds since the Unix epoch, by its author's clock.
    pub at_us: u64,
    /// What is to change.
    pub what: What,
}

impl Change {
    /// A change with an id of its own.
    pub fn new(at_us: u64, what: What) -> Change {
        Change { id: ChangeId(u128::from_le_bytes(random::seed())), at_us, what }
    }
}

/// Names a change, so that it is applied once; drawn at random.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(pub u128);

impl fmt::Debug for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What a change changes.
///
/// The order of variants is the encoding: a new one comes last, and is proposed only once the cluster's feature level says
/// that every node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A cluster begins, with one member.
    Found(Founding),
    /// A node becomes a member; or a member says what is new about itself.
    Join(Member),
    /// A member leaves for good.
    Leave(NodeId),
    /// A member's share of the ring changes.
    Reweigh {
        /// Which one's.
        node: NodeId,
        /// To how much.
        weight: u32,
    },
    /// A member is thought to be in this state from now on.
    Mark {
        /// Which one.
        node: NodeId,
        /// The state.
        status: Status,
    },
    /// Everybody uses what this level and those below it brought.
    Raise {
        /// The level.
        feature_level: u16,
    },
    /// A rules document is published.
    Publish(Publish),
}

/// How a cluster begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Founding {
    /// Tells the cluster from all others; drawn at random.
    pub cluster: ClusterId,
    /// What keys are hashed under.
    pub seeds: Seeds,
    /// The first member.
    pub founder: Member,
}

/// Tells clusters apart.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterId(pub u128);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The secrets of the hashes: the same on every node, or they would not agree on a key's place.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeds {
    /// Places keys.
    pub placement: [u8; 16],
    /// Tells keys apart.
    pub identity: [u8; 16],
}

impl fmt::Debug for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seeds(..)") // whoever can read a log must not learn to choose placements
    }
}

/// A document on its way to be live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// The document.
    pub text: Packed,
    /// Who publishes it.
    pub author: Label<AUTHOR_BYTES_MAX>,
    /// Why.
    pub comment: Label<COMMENT_BYTES_MAX>,
    /// The versions, one of which its author believes to be live, as lineage and number; `None` = whatever is.
    pub expect: Option<Vec<(u64, u64)>>,
}
