//! Whose is a key: a consistent-hash ring of nodes, and the shard inside the node.
//!
//! Each node draws [`POINTS_PER_WEIGHT`] points a unit of its weight; a key belongs to the first point at or after its
//! placement, around the end to the first one. Its replica is the next *other* node, in another zone if there is one.
//! Placement is contract between versions: golden placements pin it.

mod draw;
mod point;
mod replicas;
mod share;

use hashring::HashRing;

use self::point::{Point, Verbatim};
pub use self::share::Share;
use crate::key::{Placement, PlacementSeed};

/// The number of a node, unique in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u64);

/// Points that a node draws for each unit of its weight. Nine equal nodes stay within a tenth of their share.
pub const POINTS_PER_WEIGHT: u32 = 1_024;

/// Largest weight of a node, so that a ring is a bounded number of points.
pub const WEIGHT_MAX: u32 = 100;

/// A node as the ring sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingMember<'z> {
    /// Who it is.
    pub id: NodeId,
    /// Its share relative to the others'; 0 = it owns nothing and is nobody's replica.
    pub weight: u32,
    /// Where it stands; nodes that do not say stand in one zone.
    pub zone: &'z str,
}

impl From<(NodeId, u32)> for RingMember<'static> {
    /// A node and its weight, in no zone.
    fn from((id, weight): (NodeId, u32)) -> RingMember<'static> {
        RingMember { id, weight, zone: "" }
    }
}

/// Who owns which placements, and who follows whom.
#[derive(Clone, Debug)]
pub struct Ring {
    points: HashRing<Point, Verbatim>,
    /// The owner of each point, clockwise.
    owners: Vec<NodeId>,
    /// The replica of each point, clockwise; its owner if that one is alone.
    replicas: Vec<NodeId>,
    /// Nodes that own anything.
    nodes: usize,
}

impl Ring {
    /// The ring of these nodes. It depends on the set alone, not on its order; of a node named twice the last one counts.
    pub fn new<'z, M: Into<RingMember<'z>>>(seed: &PlacementSeed, members: impl IntoIterator<Item = M>) -> Ring {
        let members = members.into_iter().map(|member| member.into()).map(|member| (member.id, member)).collect();
        let drawn = draw::points(&members, |node, index| draw::point(seed, node, index));
        let owners: Vec<NodeId> = drawn.values().copied().collect();
        let replicas = replicas::of(&owners, |node| members[&node].zone);
        let nodes = members.values().filter(|member| member.weight > 0).count();
        let mut points = HashRing::with_hasher(Verbatim);
        points.batch_add(drawn.into_keys().enumerate().map(|(index, at)| Point { at, index }).collect());
        Ring { points, owners, replicas, nodes }
    }

    /// The owner of a placement; `None` on a ring without nodes.
    ///
    /// ```
    /// use tallyring_protocol::{NodeId, Placement, PlacementSeed, Ring};
    /// let ring = Ring::new(&PlacementSeed([0; 16]), [(NodeId(1), 1)]);
    /// assert_eq!(ring.owner(Placement(42)), Some(NodeId(1)));
    /// ```
    pub fn owner(&self, placement: Placement) -> Option<NodeId> {
        self.index(placement).map(|index| self.owners[index])
    }

    /// The node that holds a copy of what the owner of a placement counts: the next other one clockwise, in another zone
    /// than the owner's if there is one. `None` if the owner is alone.
    ///
    /// ```
    /// use tallyring_protocol::ring::RingMember;
    /// use tallyring_protocol::{NodeId, Placement, PlacementSeed, Ring};
    /// let member = |id, zone| RingMember { id: NodeId(id), weight: 1, zone };
    /// let ring = Ring::new(&PlacementSeed([0; 16]), [member(1, "a"), member(2, "a"), member(3, "b")]);
    /// assert!((0..100).map(|n| Placement(n << 57)).all(|placement| {
    ///     let [owner, replica] = [ring.owner(placement), ring.replica(placement)];
    ///     owner == Some(NodeId(3)) || replica == Some(NodeId(3))
    /// }));
    /// ```
    pub fn replica(&self, placement: Placement) -> Option<NodeId> {
        self.index(placement).map(|index| self.replicas[index]).filter(|_| self.nodes > 1)
    }

    /// Every node, each once, in the order in which they would serve a placement: its owner, its replica, and the others
    /// as they come clockwise.
    pub fn successors(&self, placement: Placement) -> Vec<NodeId> {
        let Some(from) = self.index(placement) else { return Vec::new() };
        let mut found = Vec::with_capacity(self.nodes);
        let clockwise = self.owners[from..].iter().chain(&self.owners[..from]);
        for node in [&self.owners[from], &self.replicas[from]].into_iter().chain(clockwise) {
            if found.len() == self.nodes {
                break;
            }
            if !found.contains(node) {
                found.push(*node);
            }
        }
        found
    }

    /// The point that a placement belongs to.
    fn index(&self, placement: Placement) -> Option<usize> {
        self.points.get(&placement.0).map(|point| point.index)
    }
}

/// The shard of a placement inside its node: its low half, scaled to the number of shards.
///
/// ```
/// use tallyring_protocol::{Placement, shard_of};
/// assert_eq!(shard_of(Placement(0xFFFF_FFFF), 4), 3);
/// assert_eq!(shard_of(Placement(0x7777_7777_0000_0000), 4), 0);
/// ```
#[inline]
pub fn shard_of(placement: Placement, shards: u16) -> u16 {
    let low = placement.0 & 0xFFFF_FFFF;
    u16::try_from((low * u64::from(shards)) >> 32).expect("the product of 32 and 16 bits, without its low 32")
}

#[cfg(test)]
mod tests;
