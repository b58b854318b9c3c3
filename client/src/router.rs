//! The router: whose is a key, and which connection leads there.
//!
//! Readers load one snapshot and never wait. A snapshot changes when a topology is pushed, and an older epoch never
//! replaces a newer one; an equal one does, because a node that lost its memory starts its epochs again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tallyring_protocol::{KeyRef, Node, NodeId, Placement, Ring, Topology, shard_of};

use crate::config::StoreConfig;
use crate::connection::{Connection, Endpoint};
use crate::error::StoreError;
use crate::gateway::Gateway;

/// Connections to members that one client keeps open. If a cluster has more shards, some shards share a connection, and
/// the nodes forward inside.
const CONNECTIONS_MAX: usize = 4_096;

/// Connections to nodes that a `wrong_owner` named and no topology has yet.
const GUESTS_MAX: usize = 8;

/// Routes keys to connections.
#[derive(Debug)]
pub(crate) struct Router {
    gateway: Arc<Gateway>,
    table: ArcSwap<Table>,
    updates: Mutex<()>,
    /// Which connection is next when any will do.
    turn: AtomicUsize,
}

/// One snapshot.
#[derive(Debug, Default)]
struct Table {
    known: Option<Known>,
    guests: Vec<Arc<Connection>>,
}

#[derive(Debug)]
struct Known {
    topology: Topology,
    ring: Arc<Ring>,
    /// In the order of the topology's nodes.
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    id: NodeId,
    shards: u16,
    connections: Vec<Arc<Connection>>,
}

impl Router {
    /// A router that knows nothing yet. Must run inside a tokio runtime when it learns.
    pub(crate) fn new(config: StoreConfig) -> Arc<Router> {
        Arc::new_cyclic(|router: &Weak<Router>| Router {
            gateway: Arc::new(Gateway::new(config, Weak::clone(router))),
            table: ArcSwap::default(),
            updates: Mutex::new(()),
            turn: AtomicUsize::new(0),
        })
    }

    /// Who its connections are.
    pub(crate) fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// The connection to the owner of a key, as far as is known.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] before the first topology, and in a cluster without nodes.
    #[inline]
    pub(crate) fn owner(&self, key: KeyRef<'_>) -> Result<Arc<Connection>, StoreError> {
        self.with_owner(key, Arc::clone)
    }

    /// What `ask` finds out about the connection to the owner of a key.
    ///
    /// # Errors
    /// As [`Router::owner`].
    #[inline]
    pub(crate) fn with_owner<T>(
        &self,
        key: KeyRef<'_>,
        ask: impl FnOnce(&Arc<Connection>) -> T,
    ) -> Result<T, StoreError> {
        let table = self.table.load();
        let known = table.known.as_ref().ok_or(StoreError::Unreachable)?;
        let placement = known.topology.placement_seed.place(key);
        let member = known.owner(placement).ok_or(StoreError::Unreachable)?;
        Ok(ask(member.connection(placement)))
    }

    /// Where a key lives, as far as is known: a node and a shard of it.
    pub(crate) fn place(&self, key: KeyRef<'_>) -> Option<(NodeId, u16)> {
        let table = self.table.load();
        let known = table.known.as_ref()?;
        let placement = known.topology.placement_seed.place(key);
        known.owner(placement).map(|member| (member.id, shard_of(placement, member.shards)))
    }

    /// The connection to a node that a `wrong_owner` named: a member's, else a guest's, opened if there is none.
    pub(crate) fn named(&self, key: KeyRef<'_>, node: NodeId, address: &str) -> Arc<Connection> {
        let _updates = self.updates.lock();
        let table = self.table.load();
        if let Some(known) = &table.known
            && let Some(member) = known.members.iter().find(|member| member.leads_to(node, address))
        {
            return Arc::clone(member.connection(known.topology.placement_seed.place(key)));
        }
        if let Some(guest) = table.guests.iter().find(|guest| guest.endpoint().address == address) {
            return Arc::clone(guest);
        }
        self.invite(&table, address)
    }

    fn invite(&self, table: &Table, address: &str) -> Arc<Connection> {
        let guest = Connection::open(Endpoint { address: address.to_owned(), shard: 0 }, Arc::clone(&self.gateway));
        let mut guests = table.guests.clone();
        if guests.len() == GUESTS_MAX {
            guests.remove(0).close();
        }
        guests.push(Arc::clone(&guest));
        let known = table.known.as_ref().map(Known::share);
        self.table.store(Arc::new(Table { known, guests }));
        guest
    }

    /// Takes a topology, unless it is older than the known one.
    pub(crate) fn learn(&self, topology: Topology) {
        let _updates = self.updates.lock();
        let table = self.table.load_full();
        if table.known.as_ref().is_some_and(|known| known.supersedes(&topology)) {
            return;
        }
        tracing::debug!(epoch = topology.epoch, nodes = topology.nodes.len(), "learned a topology");
        let before: Vec<&Arc<Connection>> = table.connections().collect();
        let known = Known::new(topology, table.known.as_ref(), |endpoint| {
            before.iter().find(|connection| *connection.endpoint() == endpoint).map_or_else(
                || Connection::open(endpoint, Arc::clone(&self.gateway)),
                |connection| Arc::clone(connection),
            )
        });
        let next = Table { known: Some(known), guests: Vec::new() };
        let left = |connection: &&Arc<Connection>| !next.connections().any(|kept| Arc::ptr_eq(kept, connection));
        before.iter().copied().filter(left).for_each(|connection| connection.close());
        self.table.store(Arc::new(next));
        self.gateway.announce_change();
    }

    /// Gateways that share the store, itself included; `None` before the first topology.
    pub(crate) fn gateways(&self) -> Option<u32> {
        self.table.load().known.as_ref().map(|known| known.topology.gateways.max(1))
    }

    /// The epoch of the topology that it routes by; `None` before the first.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.table.load().known.as_ref().map(|known| known.topology.epoch)
    }

    /// Whether any connection is up.
    pub(crate) fn is_connected(&self) -> bool {
        self.table.load().connections().any(|connection| connection.is_up())
    }

    /// Whether every member's every connection is up.
    pub(crate) fn is_ready(&self) -> bool {
        let table = self.table.load();
        let all_up = |known: &Known| known.connections().all(|connection| connection.is_up());
        table.known.as_ref().is_some_and(|known| !known.members.is_empty() && all_up(known))
    }

    /// A connection that is up: each in turn, so that whoever asks again asks somebody else.
    pub(crate) fn any(&self) -> Result<Arc<Connection>, StoreError> {
        let table = self.table.load();
        let up: Vec<&Arc<Connection>> = table.connections().filter(|connection| connection.is_up()).collect();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed).checked_rem(up.len()).ok_or(StoreError::Unreachable)?;
        Ok(Arc::clone(up[turn]))
    }
}

impl Drop for Router {
    /// Nobody can call any more: the connections end, and with them their tasks.
    fn drop(&mut self) {
        self.table.load().connections().for_each(|connection| connection.close());
        self.gateway.announce_change();
    }
}

impl Table {
    fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.known.iter().flat_map(Known::connections).chain(&self.guests)
    }
}

impl Known {
    fn new(topology: Topology, before: Option<&Known>, mut connect: impl FnMut(Endpoint) -> Arc<Connection>) -> Known {
        let ring = match before {
            Some(known) if known.places_like(&topology) => Arc::clone(&known.ring),
            _ => Arc::new(topology.ring()),
        };
        let connections_max = CONNECTIONS_MAX / topology.nodes.len().max(1);
        let members = topology.nodes.iter().map(|node| Member::new(node, connections_max, &mut connect)).collect();
        Known { topology, ring, members }
    }

    /// The same again, for a snapshot that differs elsewhere.
    fn share(&self) -> Known {
        let members = self.members.iter().map(Member::share).collect();
        Known { topology: self.topology.clone(), ring: Arc::clone(&self.ring), members }
    }

    fn supersedes(&self, topology: &Topology) -> bool {
        self.topology.epoch > topology.epoch || self.topology == *topology
    }

    fn places_like(&self, topology: &Topology) -> bool {
        self.topology.placement_seed == topology.placement_seed && self.topology.nodes == topology.nodes
    }

    #[inline]
    fn owner(&self, placement: Placement) -> Option<&Member> {
        if let [only] = &self.members[..] {
            return Some(only);
        }
        let owner = self.ring.owner(placement)?;
        self.members.iter().find(|member| member.id == owner)
    }

    fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.members.iter().flat_map(|member| &member.connections)
    }
}

impl Member {
    fn new(node: &Node, connections_max: usize, connect: &mut impl FnMut(Endpoint) -> Arc<Connection>) -> Member {
        let shards = usize::from(node.shards).min(connections_max.max(1));
        let shards = u16::try_from(shards).expect("no more than the node's shards");
        let connections = (0..shards).map(|shard| connect(Endpoint { address: node.native.clone(), shard })).collect();
        Member { id: node.id, shards: node.shards, connections }
    }

    fn share(&self) -> Member {
        Member { id: self.id, shards: self.shards, connections: self.connections.clone() }
    }

    fn leads_to(&self, node: NodeId, address: &str) -> bool {
        self.id == node && self.connections[0].endpoint().address == address
    }

    #[inline]
    fn connection(&self, placement: Placement) -> &Arc<Connection> {
        let shard = usize::from(shard_of(placement, self.shards));
        &self.connections[shard % self.connections.len()]
    }
}

#[cfg(all(test, not(feature = "sim")))]
mod tests {
    use super::*;
    use tallyring_protocol::{Key, PlacementSeed};

    fn node(id: u64, shards: u16) -> Node {
        Node { id: NodeId(id), weight: 1, shards, native: format!("127.0.0.1:{id}"), zone: String::new() }
    }

    fn topology(epoch: u64, nodes: Vec<Node>) -> Topology {
        Topology { epoch, placement_seed: PlacementSeed([1; 16]), nodes, gateways: 3 }
    }

    fn router() -> Arc<Router> {
        Router::new(StoreConfig { random_seed: Some(1), ..StoreConfig::default() })
    }

    fn endpoints(router: &Router) -> Vec<(String, u16)> {
        let table = router.table.load();
        table.connections().map(|c| (c.endpoint().address.clone(), c.endpoint().shard)).collect()
    }

    #[tokio::test]
    async fn an_older_topology_does_not_replace_a_newer_one() {
        let router = router();
        router.learn(topology(5, vec![node(1, 1)]));
        router.learn(topology(4, vec![node(2, 1)]));
        assert_eq!((router.epoch(), endpoints(&router)), (Some(5), vec![("127.0.0.1:1".into(), 0)]));
        router.learn(topology(5, vec![node(2, 1)]));
        assert_eq!(endpoints(&router), [("127.0.0.1:2".into(), 0)]);
    }

    #[tokio::test]
    async fn every_node_and_shard_has_one_connection() {
        let router = router();
        router.learn(topology(1, vec![node(1, 2), node(2, 1)]));
        let expect = [("127.0.0.1:1", 0), ("127.0.0.1:1", 1), ("127.0.0.1:2", 0)];
        assert_eq!(endpoints(&router), expect.map(|(address, shard)| (address.to_owned(), shard)));
    }

    #[tokio::test]
    async fn a_key_goes_to_the_shard_of_its_placement() {
        let router = router();
        router.learn(topology(1, vec![node(1, 4), node(2, 4)]));
        let known = topology(1, vec![node(1, 4), node(2, 4)]);
        for n in 0..100 {
            let key = Key::raw(format!("key {n}").as_bytes()).unwrap();
            let placement = known.placement_seed.place(key.as_ref());
            let endpoint = router.owner(key.as_ref()).unwrap().endpoint().clone();
            let owner = known.node(known.ring().owner(placement).unwrap()).unwrap();
            assert_eq!((endpoint.address, endpoint.shard), (owner.native.clone(), shard_of(placement, 4)));
        }
    }

    #[tokio::test]
    async fn connections_that_stay_are_kept_and_the_others_closed() {
        let router = router();
        router.learn(topology(1, vec![node(1, 1), node(2, 1)]));
        let before: Vec<_> = router.table.load().connections().cloned().collect();
        router.learn(topology(2, vec![node(1, 1), node(3, 1)]));
        let after: Vec<_> = router.table.load().connections().cloned().collect();
        assert!(Arc::ptr_eq(&before[0], &after[0]));
        assert_eq!([&before[0], &before[1], &after[1]].map(|c| c.is_closed()), [false, true, false]);
    }

    #[tokio::test]
    async fn a_named_stranger_is_a_guest_until_a_topology_knows_it() {
        let router = router();
        let key = Key::raw(b"k").unwrap();
        router.learn(topology(1, vec![node(1, 1)]));
        let guest = router.named(key.as_ref(), NodeId(2), "127.0.0.1:2");
        assert!(Arc::ptr_eq(&guest, &router.named(key.as_ref(), NodeId(2), "127.0.0.1:2")));
        router.learn(topology(2, vec![node(2, 1)]));
        assert!(Arc::ptr_eq(&guest, &router.owner(key.as_ref()).unwrap()));
    }

    #[tokio::test]
    async fn guests_are_bounded() {
        let router = router();
        let key = Key::raw(b"k").unwrap();
        let guests: Vec<_> =
            (0..20).map(|n| router.named(key.as_ref(), NodeId(n), &format!("127.0.0.1:{n}"))).collect();
        assert_eq!(endpoints(&router).len(), GUESTS_MAX);
        assert_eq!(guests.iter().filter(|guest| !guest.is_closed()).count(), GUESTS_MAX);
    }

    #[tokio::test]
    async fn a_cluster_with_more_shards_than_connections_is_still_covered() {
        let router = router();
        router.learn(topology(1, (1..=100).map(|id| node(id, 64)).collect()));
        assert!(endpoints(&router).len() <= CONNECTIONS_MAX);
        assert!(router.owner(Key::raw(b"k").unwrap().as_ref()).is_ok());
    }

    #[tokio::test]
    async fn a_dropped_router_closes_its_connections() {
        let router = router();
        router.learn(topology(1, vec![node(1, 1)]));
        let connection = router.owner(Key::raw(b"k").unwrap().as_ref()).unwrap();
        drop(router);
        assert!(connection.is_closed());
    }
}
