//! The nodes, as the tests start them.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tallyring::config::Config;
use tallyring::node::Node;
use tallyring_client::{Store, StoreConfig};
use tallyring_protocol::{Key, NodeId, PlacementSeed, Ring, Topology};

/// What places the keys of every test.
pub const SEED: PlacementSeed = PlacementSeed([5; 16]);

/// Shards of every node.
pub const SHARDS: u16 = 2;

/// Nodes that are one cluster from the beginning.
pub struct Cluster {
    pub nodes: Vec<Node>,
    pub topology: Topology,
}

impl Cluster {
    /// So many nodes, numbered from 1, that know of each other.
    pub async fn start(nodes: u64) -> Cluster {
        let cluster = Cluster::strangers(nodes).await;
        cluster.introduce();
        cluster
    }

    /// The same before they know of each other: each owns everything. Then they can be introduced.
    pub async fn strangers(nodes: u64) -> Cluster {
        let mut cluster = Vec::new();
        for id in 1..=nodes {
            cluster.push(Node::start(config(id)).await.unwrap());
        }
        let seen: Vec<Topology> = cluster.iter().map(|node| node.view().territory().topology().clone()).collect();
        let epoch = seen.iter().map(|topology| topology.epoch).max().unwrap() + 1;
        let members = seen.into_iter().flat_map(|topology| topology.nodes).collect();
        let topology = Topology { epoch, placement_seed: SEED, nodes: members, gateways: 1 };
        Cluster { nodes: cluster, topology }
    }

    /// Tells every node of all.
    pub fn introduce(&self) {
        self.nodes.iter().for_each(|node| node.view().take(self.topology.clone()).unwrap());
    }

    /// A client that knows the node at this index alone, with a deadline that a busy machine keeps.
    pub fn client_of(&self, index: usize) -> Store {
        let deadline = Duration::from_secs(10);
        let seeds = vec![self.nodes[index].native_addr().to_string()];
        Store::open(StoreConfig { seeds, deadline, ..StoreConfig::default() })
    }

    /// A key of the node at this index.
    pub fn key_of(&self, index: usize) -> Key {
        let (ring, owner) = (self.topology.ring(), self.topology.nodes[index].id);
        keys().find(|key| owner_of(key, &ring) == owner).unwrap()
    }

    pub async fn stop(self) {
        for node in self.nodes {
            node.drain().await;
        }
    }
}

/// Any number of keys.
pub fn keys() -> impl Iterator<Item = Key> {
    (0..).map(|no| Key::raw(format!("key {no}").as_bytes()).unwrap())
}

pub fn owner_of(key: &Key, ring: &Ring) -> NodeId {
    ring.owner(SEED.place(key.as_ref())).unwrap()
}

/// Waits until `condition`, at most ten seconds.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn config(id: u64) -> Config {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Config {
        native_addr: any_port,
        http_addr: any_port,
        resp_addr: any_port,
        peer_addr: any_port,
        shards: SHARDS.to_string().parse().unwrap(),
        node_id: id.to_string().parse().unwrap(),
        placement_seed: SEED,
        ..Config::default()
    }
}
