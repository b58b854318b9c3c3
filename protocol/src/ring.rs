//! Whose is a key: a consistent-hash ring of nodes, and the shard inside the node.
//!
//! Each node draws [`POINTS_PER_WEIGHT`] points a unit of its weight; a key belongs to the first point at or after its
//! placement, around the end to the first one. Placement is contract between versions: golden placements pin it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};

use hashring::HashRing;

use crate::key::{Placement, PlacementSeed};

/// The number of a node, unique in its cluster and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u64);

/// Points that a node draws for each unit of its weight. Nine equal nodes stay within a tenth of their share.
pub const POINTS_PER_WEIGHT: u32 = 1_024;

/// Largest weight of a node, so that a ring is a bounded number of points.
pub const WEIGHT_MAX: u32 = 100;

/// Times a colliding point is drawn again; each time with an index beyond the node's own points.
const REDRAWS_MAX: u32 = 16;

/// Who owns which placements.
#[derive(Clone, Debug)]
pub struct Ring(HashRing<Point, Verbatim>);

impl Ring {
    /// The ring of these nodes and weights. It depends on the set alone, not on its order.
    ///
    /// Two equal points would let insertion order pick the owner, so the node with the greater id draws again.
    pub fn new(seed: &PlacementSeed, nodes: impl IntoIterator<Item = (NodeId, u32)>) -> Ring {
        let nodes: BTreeMap<NodeId, u32> = nodes.into_iter().collect();
        let mut owners: BTreeMap<u64, NodeId> = BTreeMap::new();
        for (node, weight) in nodes {
            let points = weight.min(WEIGHT_MAX) * POINTS_PER_WEIGHT;
            for index in 0..points {
                let redraw = (0..REDRAWS_MAX).map(|again| draw(seed, node, index + again * points));
                if let Some(free) = redraw.into_iter().find(|at| !owners.contains_key(at)) {
                    owners.insert(free, node);
                }
            }
        }
        let mut ring = HashRing::with_hasher(Verbatim);
        ring.batch_add(owners.into_iter().map(|(at, node)| Point { at, node }).collect());
        Ring(ring)
    }

    /// The owner of a placement; `None` on a ring without nodes.
    ///
    /// ```
    /// use tallyring_protocol::{NodeId, Placement, PlacementSeed, Ring};
    /// let ring = Ring::new(&PlacementSeed([0; 16]), [(NodeId(1), 1)]);
    /// assert_eq!(ring.owner(Placement(42)), Some(NodeId(1)));
    /// ```
    pub fn owner(&self, placement: Placement) -> Option<NodeId> {
        self.0.get(&placement.0).map(|point| point.node)
    }
}

/// One point of a node: SipHash-1-3 of the node's id and the point's index, both little-endian.
fn draw(seed: &PlacementSeed, node: NodeId, index: u32) -> u64 {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&node.0.to_le_bytes());
    bytes[8..].copy_from_slice(&index.to_le_bytes());
    seed.hash(&bytes)
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

#[derive(Clone, Copy, Debug)]
struct Point {
    at: u64,
    node: NodeId,
}

impl Hash for Point {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.at);
    }
}

/// A hasher that repeats the 64 bits it was given: points and placements are hashes already.
#[derive(Clone, Copy, Debug)]
struct Verbatim;

impl BuildHasher for Verbatim {
    type Hasher = VerbatimHasher;

    fn build_hasher(&self) -> VerbatimHasher {
        VerbatimHasher(0)
    }
}

struct VerbatimHasher(u64);

impl Hasher for VerbatimHasher {
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a ring hashes points and placements alone, as one u64 each")
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(n: u64) -> impl Iterator<Item = (NodeId, u32)> {
        (1..=n).map(|id| (NodeId(id), 1))
    }

    fn seed(n: u8) -> PlacementSeed {
        PlacementSeed([n; 16])
    }

    /// Placements spread evenly over the ring.
    fn placements(n: u64) -> impl Iterator<Item = Placement> {
        (0..n).map(move |i| Placement(i * (u64::MAX / n)))
    }

    #[test]
    fn the_order_of_nodes_does_not_matter() {
        let forward = Ring::new(&seed(1), nodes(5));
        let backward = Ring::new(&seed(1), nodes(5).collect::<Vec<_>>().into_iter().rev());
        assert!(placements(10_000).all(|p| forward.owner(p) == backward.owner(p)));
    }

    #[test]
    fn nine_equal_nodes_stay_within_a_tenth_of_their_share() {
        for s in 0..20 {
            let ring = Ring::new(&seed(s), nodes(9));
            let mut owned: BTreeMap<NodeId, u64> = BTreeMap::new();
            for placement in placements(90_000) {
                *owned.entry(ring.owner(placement).unwrap()).or_default() += 1;
            }
            assert_eq!(owned.len(), 9);
            assert!(owned.values().all(|n| (9_000..=11_000).contains(n)), "seed {s}: {owned:?}");
        }
    }

    #[test]
    fn a_joining_node_takes_keys_but_moves_none_between_others() {
        let before = Ring::new(&seed(3), nodes(3));
        let after = Ring::new(&seed(3), nodes(4));
        let moved: Vec<_> = placements(40_000).filter(|p| before.owner(*p) != after.owner(*p)).collect();
        assert!(moved.iter().all(|p| after.owner(*p) == Some(NodeId(4))));
        assert!(moved.len() < 13_000, "{} of 40,000 moved", moved.len());
    }

    #[test]
    fn a_point_belongs_to_its_node_and_the_next_placement_does_not_have_to() {
        let ring = Ring::new(&seed(4), nodes(3));
        for node in 1..=3 {
            assert_eq!(ring.owner(Placement(draw(&seed(4), NodeId(node), 17))), Some(NodeId(node)));
        }
        assert_eq!(ring.owner(Placement(u64::MAX)), ring.owner(Placement(0)));
    }

    #[test]
    fn a_ring_without_nodes_has_no_owner() {
        assert_eq!(Ring::new(&seed(5), []).owner(Placement(1)), None);
        assert_eq!(Ring::new(&seed(5), [(NodeId(1), 0)]).owner(Placement(1)), None);
    }

    #[test]
    fn shards_split_the_low_half_evenly() {
        assert_eq!(shard_of(Placement(0), 1), 0);
        assert_eq!(shard_of(Placement(u64::MAX), 1), 0);
        assert_eq!(shard_of(Placement(0x8000_0000), 2), 1);
        assert_eq!(shard_of(Placement(0x7FFF_FFFF), 2), 0);
        assert_eq!(shard_of(Placement(u64::MAX), 1_024), 1_023);
    }
}
