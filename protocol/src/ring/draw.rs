//! Which points a node draws.

use std::collections::BTreeMap;

use super::{NodeId, POINTS_PER_WEIGHT, RingMember, WEIGHT_MAX};
use crate::key::PlacementSeed;

/// Times a colliding point is drawn again; each time with an index beyond the node's own points.
const REDRAWS_MAX: u32 = 16;

/// Every point and the node that drew it, clockwise.
///
/// Two equal points would let insertion order pick the owner, and two nodes could disagree. So each point is one node's:
/// the node with the greater id draws again.
pub(super) fn points(
    members: &BTreeMap<NodeId, RingMember<'_>>,
    draw: impl Fn(NodeId, u32) -> u64,
) -> BTreeMap<u64, NodeId> {
    let mut owners = BTreeMap::new();
    for (node, member) in members {
        let points = member.weight.min(WEIGHT_MAX) * POINTS_PER_WEIGHT;
        for index in 0..points {
            let draws = (0..REDRAWS_MAX).map(|again| draw(*node, index + again * points));
            if let Some(free) = draws.into_iter().find(|at| !owners.contains_key(at)) {
                owners.insert(free, *node);
            }
        }
    }
    owners
}

/// One point of a node: SipHash-1-3 of the node's id and the point's index, both little-endian.
pub(super) fn point(seed: &PlacementSeed, node: NodeId, index: u32) -> u64 {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&node.0.to_le_bytes());
    bytes[8..].copy_from_slice(&index.to_le_bytes());
    seed.hash(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_equal_points_the_greater_id_draws_again_whatever_the_order() {
        let draw = |node: NodeId, index: u32| match (node, index) {
            (NodeId(2), 5) => u64::from(5 * 2_u32), // the point 5 of node 1
            (NodeId(2), _) => u64::from(index) * 2 + 1,
            (_, _) => u64::from(index) * 2,
        };
        let member = |id| (NodeId(id), RingMember::from((NodeId(id), 1)));
        let owners = points(&[member(2), member(1)].into(), draw);
        assert_eq!(owners.len(), 2 * POINTS_PER_WEIGHT as usize, "nobody loses a point");
        assert_eq!(owners[&10], NodeId(1));
        assert_eq!(owners[&(u64::from(5 + POINTS_PER_WEIGHT) * 2 + 1)], NodeId(2));
    }
}
