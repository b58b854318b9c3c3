//! A member: a node of the cluster as the others know it.

use serde::{Deserialize, Serialize};
use tallyring_protocol::bounds::SHARDS_MAX;
use tallyring_protocol::ring::WEIGHT_MAX;
use tallyring_protocol::{Node, NodeId};

use super::outcome::Refusal;
use super::state::FEATURE_LEVEL;

/// Longest address of a member, in bytes: a host name of 253 characters, a colon and a port.
pub const ADDRESS_BYTES_MAX: usize = 259;

/// Longest name of a zone, in bytes.
pub const ZONE_BYTES_MAX: usize = 64;

/// Longest version of a program, in bytes.
pub const VERSION_BYTES_MAX: usize = 64;

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its number, below 2^53.
    pub id: NodeId,
    /// Tells this node from another one that was given the same number by mistake.
    pub key: NodeKey,
    /// Where it is reached.
    pub addresses: Addresses,
    /// Where it stands; may be empty.
    pub zone: String,
    /// Its share of the ring relative to the others'.
    pub weight: u32,
    /// Its threads that own keys.
    pub shards: u16,
    /// The highest feature level that its program knows.
    pub feature_level: u16,
    /// The version of its program, for people.
    pub version: String,
    /// What the cluster thinks of it.
    pub status: Status,
}

/// Drawn at random when a node's data folder is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeKey(pub u128);

/// Where a member is reached, each as `host:port`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// By gateways.
    pub native: String,
    /// By people and their tools.
    pub http: String,
    /// By Redis clients.
    pub resp: String,
    /// By the other members.
    pub peer: String,
}

/// What the cluster thinks of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It serves what it owns.
    #[default]
    Up,
    /// Nobody hears of it: its replicas serve in its place.
    Down,
    /// It hands over what it owns and takes nothing new.
    Draining,
}

impl Member {
    /// A node of this program as it comes: in no zone, of one share and one shard, and nobody knows its key yet.
    pub fn new(id: NodeId, addresses: Addresses) -> Member {
        Member {
            id,
            key: NodeKey(0),
            addresses,
            zone: String::new(),
            weight: 1,
            shards: 1,
            feature_level: FEATURE_LEVEL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            status: Status::Up,
        }
    }

    /// The rules that any member keeps, each a comparison.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] names the field.
    pub fn check(&self) -> Result<(), Refusal> {
        let Addresses { native, http, resp, peer } = &self.addresses;
        let is_address = |text: &str| text.contains(':') && text.len() <= ADDRESS_BYTES_MAX;
        let rules = [
            (self.id.0 < 1 << 53, "id: below 2^53, so that every JSON reader can hold it"),
            (
                [native, http, resp, peer].into_iter().all(|text| is_address(text)),
                "addresses: host:port, 259 bytes each",
            ),
            (self.zone.len() <= ZONE_BYTES_MAX, "zone: at most 64 bytes"),
            (self.version.len() <= VERSION_BYTES_MAX, "version: at most 64 bytes"),
            (self.weight <= WEIGHT_MAX, "weight: at most 100"),
            ((1..=SHARDS_MAX).contains(&self.shards), "shards: 1 ..= 1,024"),
        ];
        match rules.into_iter().find(|(kept, _)| !kept) {
            Some((_, rule)) => Err(Refusal::Malformed { rule: rule.to_owned() }),
            None => Ok(()),
        }
    }

    /// The member as gateways are told of it.
    pub fn to_node(&self) -> Node {
        let Addresses { native, .. } = &self.addresses;
        Node { id: self.id, weight: self.weight, shards: self.shards, native: native.clone(), zone: self.zone.clone() }
    }
}
