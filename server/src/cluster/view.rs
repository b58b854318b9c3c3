//! The topology as this node sees it, and how it gets to its shards.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tallyring_protocol::{NodeId, Topology};
use tokio::sync::Notify;

use crate::shard::territory::Territory;

/// The current topology. Its epoch only grows.
#[derive(Debug)]
pub struct View {
    node: NodeId,
    current: ArcSwap<Territory>,
    /// Held by whoever replaces the current one.
    replacing: Mutex<()>,
    changed: Notify,
}

/// Why a topology is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// It is older than the current one, or another one of the same epoch.
    #[error("epoch {offered} of the topology does not follow {current}")]
    Stale {
        /// The current epoch.
        current: u64,
        /// The epoch that does not follow it.
        offered: u64,
    },
    /// It places keys by another seed: whatever was counted here would be lost.
    #[error("the topology places keys by another seed")]
    Seed,
    /// It says that this node has another number of shards: others would ask the wrong ones.
    #[error("the topology says that this node has {offered} shards, and it has {current}")]
    Shards {
        /// The shards that the node has.
        current: u16,
        /// Those that the topology knows of.
        offered: u16,
    },
}

impl View {
    /// What `node` sees at first.
    pub fn new(node: NodeId, topology: Topology) -> View {
        let current = ArcSwap::from_pointee(Territory::new(node, topology));
        View { node, current, replacing: Mutex::new(()), changed: Notify::new() }
    }

    /// What it sees now.
    pub fn territory(&self) -> Arc<Territory> {
        self.current.load_full()
    }

    /// Waits until there is another topology since the last wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Notes how many gateways live.
    pub fn set_gateways(&self, gateways: u32) {
        let _replacing = self.replacing.lock();
        let current = self.territory();
        if current.topology().gateways != gateways {
            self.replace(current.with_gateways(gateways));
        }
    }

    /// Takes the next topology; the number of gateways stays what this node knows.
    ///
    /// # Errors
    /// [`ViewError`]: the current one stays.
    pub fn take(&self, topology: Topology) -> Result<(), ViewError> {
        let _replacing = self.replacing.lock();
        let current = self.territory();
        follows(current.topology(), &topology, self.node)?;
        let gateways = current.topology().gateways;
        self.replace(Territory::new(self.node, Topology { gateways, ..topology }));
        Ok(())
    }

    /// This node has left, and knows no topology without itself: it holds nothing from now on.
    pub fn vacate(&self) {
        let _replacing = self.replacing.lock();
        self.replace(self.territory().vacated());
    }

    fn replace(&self, territory: Territory) {
        self.current.store(Arc::new(territory));
        self.changed.notify_one();
    }
}

/// The rules that a topology keeps that comes after another one.
fn follows(current: &Topology, next: &Topology, node: NodeId) -> Result<(), ViewError> {
    if next.epoch <= current.epoch {
        return Err(ViewError::Stale { current: current.epoch, offered: next.epoch });
    }
    if next.placement_seed != current.placement_seed {
        return Err(ViewError::Seed);
    }
    let shards = |topology: &Topology| topology.node(node).map(|node| node.shards);
    match (shards(current), shards(next)) {
        (Some(current), Some(offered)) if current != offered => Err(ViewError::Shards { current, offered }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallyring_protocol::{Node, PlacementSeed};

    fn topology(epoch: u64) -> Topology {
        let node = |id| Node { id: NodeId(id), weight: 1, shards: 2, native: format!("n{id}:1"), zone: String::new() };
        Topology { epoch, placement_seed: PlacementSeed([1; 16]), nodes: vec![node(1), node(2)], gateways: 1 }
    }

    fn check(change: impl FnOnce(&mut Topology), expect: Result<(), ViewError>) {
        let (view, mut next) = (View::new(NodeId(1), topology(5)), topology(6));
        change(&mut next);
        assert_eq!(view.take(next.clone()), expect);
        let seen = view.territory().topology().clone();
        assert_eq!(seen, if expect.is_ok() { next } else { topology(5) });
    }

    #[test]
    fn a_topology_is_taken_if_it_follows_the_current_one() {
        check(|_| (), Ok(()));
        check(|t| drop(t.nodes.pop()), Ok(()));
        check(|t| t.nodes.clear(), Ok(()));
        check(|t| t.nodes[1].shards = 9, Ok(()));
        check(|t| t.epoch = 5, Err(ViewError::Stale { current: 5, offered: 5 }));
        check(|t| t.epoch = 4, Err(ViewError::Stale { current: 5, offered: 4 }));
        check(|t| t.placement_seed = PlacementSeed([2; 16]), Err(ViewError::Seed));
        check(|t| t.nodes[0].shards = 9, Err(ViewError::Shards { current: 2, offered: 9 }));
    }

    #[tokio::test]
    async fn whoever_waits_learns_of_topologies_and_of_gateways() {
        let view = View::new(NodeId(1), topology(5));
        view.set_gateways(4);
        view.changed().await;
        view.take(topology(6)).unwrap();
        view.changed().await;
        let seen = view.territory();
        assert_eq!((seen.topology().epoch, seen.topology().gateways), (6, 4), "a topology does not count gateways");
    }
}
