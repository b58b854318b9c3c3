//! Several nodes in one process that have joined each other, each with a data folder of its own.
#![allow(clippy::unwrap_used, reason = "it is part of tests, which may panic")]

use std::time::Duration;

use tallyring::config::{Config, Join};
use tallyring::node::Node;
use tallyring::sys::clock::Clock;
use tallyring_protocol::{Key, NodeId, Ring, Topology};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::local;

/// How long a cluster may take to come together on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The nodes, numbered from 1.
#[derive(Debug)]
pub struct Cluster {
    /// Those that run.
    pub nodes: Vec<Node>,
    folder: TempDir,
}

impl Cluster {
    /// So many nodes of so many shards each, whose time is what `clock` says.
    ///
    /// # Panics
    /// If they do not come together.
    pub async fn start(nodes: usize, shards: u16, clock: impl Fn() -> Clock) -> Cluster {
        Cluster::start_with(nodes, clock, |_| local::config(shards)).await
    }

    /// The same, each node with a configuration of its own; addresses to join at, number and folder are given to it.
    ///
    /// # Panics
    /// If they do not come together.
    pub async fn start_with(nodes: usize, clock: impl Fn() -> Clock, config: impl Fn(usize) -> Config) -> Cluster {
        let mut cluster = Cluster { nodes: Vec::new(), folder: tempfile::tempdir().unwrap() };
        for at in 0..nodes {
            let config = cluster.member(at, config(at));
            cluster.nodes.push(Node::start_on(clock(), config).await.unwrap());
        }
        cluster.until_all_see(nodes).await;
        cluster
    }

    fn member(&self, at: usize, config: Config) -> Config {
        let join =
            self.nodes.first().map_or_else(Join::default, |first| first.peer_addr().to_string().parse().unwrap());
        let data = Some(self.folder.path().join(at.to_string()));
        Config { join, data, node_id: (at + 1).to_string().parse().unwrap(), ..config }
    }

    /// Waits until all nodes see so many members, and agree on them.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn until_all_see(&self, members: usize) {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen: Vec<Topology> = self.nodes.iter().map(topology).collect();
            if seen.iter().all(|topology| topology.nodes.len() == members && topology.epoch == seen[0].epoch) {
                return;
            }
            assert!(Instant::now() < until, "the nodes see {seen:?}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// The place among the nodes of a raw key's owner.
    ///
    /// # Panics
    /// If the key is none, or nobody owns it.
    pub fn owner_of(&self, raw: &str) -> usize {
        let (topology, key) = (topology(&self.nodes[0]), Key::raw(raw.as_bytes()).unwrap());
        let NodeId(owner) = ring_owner(&topology.ring(), &topology, &key);
        usize::try_from(owner).unwrap() - 1
    }

    /// Raw keys of the node at this place.
    pub fn keys_of(&self, at: usize) -> impl Iterator<Item = String> + '_ {
        (0..).map(|no| format!("key {no}")).filter(move |raw| self.owner_of(raw) == at)
    }

    /// Ends all nodes.
    pub async fn stop(self) {
        for node in self.nodes {
            node.drain().await;
        }
    }
}

fn ring_owner(ring: &Ring, topology: &Topology, key: &Key) -> NodeId {
    ring.owner(topology.placement_seed.place(key.as_ref())).unwrap()
}

/// What a node sees of the cluster.
fn topology(node: &Node) -> Topology {
    node.view().territory().topology().clone()
}
