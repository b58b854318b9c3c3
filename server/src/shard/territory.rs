//! What a shard knows of the cluster: which placements are its node's, and whom the others belong to.
//!
//! It never changes; another topology is another territory, which comes by mail like other rules. So a decision is made
//! under one ring epoch from its check to its answer. Ranges that are frozen while they move would be looked at in
//! [`Territory::holds`], and answered in [`Territory::refusal`].

use std::sync::Arc;

use bytes::Bytes;
use tallyring_protocol::ring::Share;
use tallyring_protocol::{Node, NodeId, Placement, Reply, Topology};

/// The cluster as of one epoch, as one of its nodes sees it.
#[derive(Clone, Debug)]
pub struct Territory {
    topology: Arc<Topology>,
    share: Arc<Share>,
    /// The push that says so.
    frame: Bytes,
}

impl Territory {
    /// What `node` sees of the cluster.
    pub fn new(node: NodeId, topology: Topology) -> Territory {
        let share = Arc::new(Share::new(node, Arc::new(topology.ring())));
        Territory::of(topology, share)
    }

    fn of(topology: Topology, share: Arc<Share>) -> Territory {
        let mut frame = Vec::new();
        Reply::Topology(topology.to_json().into()).encode(0, &mut frame);
        Territory { topology: Arc::new(topology), share, frame: frame.into() }
    }

    /// The same with another number of gateways, which moves no key.
    pub fn with_gateways(&self, gateways: u32) -> Territory {
        Territory::of(Topology { gateways, ..Topology::clone(&self.topology) }, Arc::clone(&self.share))
    }

    /// The same, of which this node holds nothing and names no owner: it knows that it has left, and not what came after.
    pub fn vacated(&self) -> Territory {
        let nobody = Topology { nodes: Vec::new(), ..Topology::clone(&self.topology) };
        let share = Arc::new(Share::new(self.share.node(), Arc::new(nobody.ring())));
        Territory { share, ..self.clone() }
    }

    /// Who is in the cluster.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The push that tells clients.
    pub fn frame(&self) -> Bytes {
        self.frame.clone()
    }

    /// Whether this node decides about a placement.
    #[inline]
    pub fn holds(&self, placement: Placement) -> bool {
        self.share.holds(placement)
    }

    /// Who owns a placement; `None` in a cluster in which nobody owns anything.
    pub fn owner(&self, placement: Placement) -> Option<&Node> {
        self.share.ring().owner(placement).and_then(|owner| self.topology.node(owner))
    }

    /// What somebody is told who asks about a placement of another node.
    #[cold]
    pub fn refusal(&self, placement: Placement) -> Reply<'static> {
        match self.owner(placement) {
            Some(owner) => {
                Reply::WrongOwner { epoch: self.topology.epoch, node: owner.id, address: owner.native.clone().into() }
            }
            None => Reply::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallyring_protocol::PlacementSeed;

    fn node(id: u64) -> Node {
        Node { id: NodeId(id), weight: 1, shards: 1, native: format!("store-{id}:4170"), zone: String::new() }
    }

    fn territory(of: u64, nodes: &[u64]) -> Territory {
        let nodes = nodes.iter().map(|id| node(*id)).collect();
        Territory::new(NodeId(of), Topology { epoch: 7, placement_seed: PlacementSeed([1; 16]), nodes, gateways: 2 })
    }

    fn placements() -> impl Iterator<Item = Placement> {
        (0..1_000).map(|n| Placement(n << 54))
    }

    #[test]
    fn of_several_nodes_one_holds_a_key_and_the_others_name_it() {
        let each = [1, 2, 3].map(|of| territory(of, &[1, 2, 3]));
        for placement in placements() {
            let [holder] = &each.iter().filter(|territory| territory.holds(placement)).collect::<Vec<_>>()[..] else {
                panic!("{placement:?} has not one owner");
            };
            let owner = holder.share.node();
            for other in each.iter().filter(|other| !other.holds(placement)) {
                let address = format!("store-{}:4170", owner.0);
                let expect = Reply::WrongOwner { epoch: 7, node: owner, address: address.into() };
                assert_eq!(other.refusal(placement), expect);
            }
        }
    }

    #[test]
    fn who_has_left_holds_nothing_and_where_nobody_is_nobody_is_named() {
        let (left, nobody) = (territory(1, &[2]), territory(1, &[]));
        assert!(placements().all(|placement| !left.holds(placement) && !nobody.holds(placement)));
        assert_eq!(nobody.refusal(Placement(1)), Reply::Unavailable);
    }

    #[test]
    fn what_was_vacated_is_held_by_nobody_that_is_known() {
        let vacated = territory(1, &[1, 2]).vacated();
        assert!(placements().all(|at| !vacated.holds(at) && vacated.refusal(at) == Reply::Unavailable));
        assert_eq!(vacated.topology().epoch, 7, "nobody is told of another ring");
    }

    #[test]
    fn other_gateways_are_another_frame_and_the_same_ring() {
        let before = territory(1, &[1, 2]);
        let after = before.with_gateways(9);
        assert_eq!((after.topology().gateways, after.topology().epoch), (9, 7));
        assert!(Arc::ptr_eq(&before.share, &after.share) && before.frame() != after.frame());
    }
}
