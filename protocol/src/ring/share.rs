//! What of the ring one node owns, laid out so that a node can ask it of every key: nearly always one load answers.

use std::sync::Arc;

use super::{NodeId, Ring};
use crate::key::Placement;

/// Cells a point: few cells are then cut by a border between two owners.
const CELLS_PER_POINT: usize = 8;

/// Cells at most: what fits into a processor's nearer caches, 64 KiB.
const CELLS_MAX: usize = 1 << 16;

/// A stretch of the circle, as one node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// All of it belongs to this node.
    Mine,
    /// None of it does.
    Others,
    /// Some of it does: the ring knows.
    Cut,
}

/// The part of a ring that one node owns.
///
/// ```
/// use std::sync::Arc;
/// use tallyring_protocol::ring::Share;
/// use tallyring_protocol::{NodeId, Placement, PlacementSeed, Ring};
/// let ring = Arc::new(Ring::new(&PlacementSeed([0; 16]), [(NodeId(1), 1), (NodeId(2), 1)]));
/// let share = Share::new(NodeId(2), Arc::clone(&ring));
/// assert_eq!(share.holds(Placement(42)), ring.owner(Placement(42)) == Some(NodeId(2)));
/// ```
#[derive(Clone, Debug)]
pub struct Share {
    node: NodeId,
    ring: Arc<Ring>,
    /// Equal stretches of the circle, a power of two of them and at least two.
    cells: Box<[Cell]>,
    /// A placement's cell is what is left of it without so many low bits.
    shift: u32,
}

impl Share {
    /// What `node` owns of `ring`.
    pub fn new(node: NodeId, ring: Arc<Ring>) -> Share {
        let count = (ring.owners.len() * CELLS_PER_POINT).next_power_of_two().clamp(2, CELLS_MAX);
        let shift = u64::BITS - count.trailing_zeros();
        let mut cells = vec![None; count];
        for (first, last, owner) in arcs(&ring) {
            let seen = if owner == node { Cell::Mine } else { Cell::Others };
            for cell in &mut cells[cell_of(first, shift)..=cell_of(last, shift)] {
                *cell = Some(cell.map_or(seen, |before| if before == seen { seen } else { Cell::Cut }));
            }
        }
        let cells = cells.into_iter().map(|cell| cell.unwrap_or(Cell::Others)).collect();
        Share { node, ring, cells, shift }
    }

    /// Whether a placement is the node's.
    #[inline]
    pub fn holds(&self, placement: Placement) -> bool {
        match self.cells[cell_of(placement.0, self.shift)] {
            Cell::Mine => true,
            Cell::Others => false,
            Cell::Cut => self.ring.owner(placement) == Some(self.node),
        }
    }

    /// Whose share it is.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The whole ring.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }
}

#[inline]
fn cell_of(at: u64, shift: u32) -> usize {
    (at >> shift) as usize
}

/// The arcs of a ring from zero on, each from its first to its last placement, and their owners.
fn arcs(ring: &Ring) -> impl Iterator<Item = (u64, u64, NodeId)> + '_ {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let first = next?;
        let point = ring.points.get(&first)?;
        // Behind the last point comes the first one: its arc goes on to the end.
        let last = if point.at >= first { point.at } else { u64::MAX };
        next = last.checked_add(1);
        Some((first, last, ring.owners[point.index]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PlacementSeed;

    fn ring(weights: &[u32]) -> Arc<Ring> {
        let members = (1..).map(NodeId).zip(weights.iter().copied());
        Arc::new(Ring::new(&PlacementSeed([9; 16]), members))
    }

    /// Placements that matter: each point, its neighbours, and the ends.
    fn borders(ring: &Ring) -> Vec<Placement> {
        let points = arcs(ring).map(|(_, last, _)| last);
        points.flat_map(|at| [at.wrapping_sub(1), at, at.wrapping_add(1)]).chain([0, u64::MAX]).map(Placement).collect()
    }

    fn check(weights: &[u32]) {
        let ring = ring(weights);
        for node in (1..=weights.len() as u64 + 1).map(NodeId) {
            let share = Share::new(node, Arc::clone(&ring));
            for placement in borders(&ring) {
                assert_eq!(
                    share.holds(placement),
                    ring.owner(placement) == Some(node),
                    "{weights:?} {node:?} {placement:?}"
                );
            }
        }
    }

    #[test]
    fn a_share_is_what_the_ring_says() {
        check(&[1]);
        check(&[1, 1]);
        check(&[1, 1, 1]);
        check(&[3, 0, 1]);
        check(&[10, 10]);
    }

    #[test]
    fn a_node_by_itself_holds_everything_and_a_node_without_weight_nothing() {
        let holds = |weights: &[u32], node| Share::new(NodeId(node), ring(weights)).holds(Placement(77));
        assert_eq!((holds(&[1], 1), holds(&[1, 0], 2), holds(&[0], 1), holds(&[], 1)), (true, false, false, false));
    }

    #[test]
    fn few_cells_are_cut() {
        let share = Share::new(NodeId(1), ring(&[1, 1, 1]));
        let cut = share.cells.iter().filter(|cell| **cell == Cell::Cut).count();
        assert!(cut * 100 < share.cells.len() * 6, "{cut} of {}", share.cells.len());
    }
}
