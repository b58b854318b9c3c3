//! Which gateways are alive: a local fallback divides its limit by their number.

pub mod census;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tallyring_protocol::NodeId;
use tokio::sync::Notify;

use self::census::Census;

/// The gateways of the cluster: those connected to this node, by the instance id of their hello, and those that other nodes
/// have told of.
#[derive(Debug, Default)]
pub struct Gateways {
    connections: Mutex<BTreeMap<u128, usize>>,
    /// The last census of each other node. Bounded by who tells: the members of the cluster.
    elsewhere: Mutex<BTreeMap<NodeId, Census>>,
    changed: Notify,
}

/// One connection of a gateway; the gateway is alive while any of its is held.
#[derive(Debug)]
pub struct Presence {
    gateways: Arc<Gateways>,
    instance: u128,
}

impl Gateways {
    /// Counts a connection of `instance`.
    pub fn join(self: &Arc<Self>, instance: u128) -> Presence {
        let mut connections = self.connections.lock();
        let count = connections.entry(instance).or_default();
        *count += 1;
        if *count == 1 {
            self.changed.notify_one();
        }
        Presence { gateways: Arc::clone(self), instance }
    }

    /// Distinct gateways alive on any node, at least 1: whoever asks is one.
    pub fn live(&self) -> u32 {
        let own = self.census();
        self.elsewhere.lock().values().fold(own, |all, census| all.union(census)).count().max(1)
    }

    /// The gateways connected to this node, to be told to the others.
    pub fn census(&self) -> Census {
        Census::of(self.connections.lock().keys().copied())
    }

    /// Another node has told of its gateways: they take the place of those it told of before.
    pub fn hear(&self, node: NodeId, census: Census) {
        let before = self.elsewhere.lock().insert(node, census.clone());
        if before != Some(census) {
            self.changed.notify_one();
        }
    }

    /// Forgets what other nodes have told that are down, or have left: their gateways are alive where they connect next.
    pub fn retain(&self, is_alive: impl Fn(NodeId) -> bool) {
        let mut elsewhere = self.elsewhere.lock();
        let before = elsewhere.len();
        elsewhere.retain(|node, _| is_alive(*node));
        if elsewhere.len() < before {
            self.changed.notify_one();
        }
    }

    /// Waits until a gateway came or went since the last wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut connections = self.gateways.connections.lock();
        let Some(count) = connections.get_mut(&self.instance) else { return };
        *count -= 1;
        if *count == 0 {
            connections.remove(&self.instance);
            self.gateways.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_counts_once_however_many_connections_it_has() {
        let gateways = Arc::new(Gateways::default());
        let first = gateways.join(7);
        let second = gateways.join(7);
        let other = gateways.join(8);
        assert_eq!(gateways.live(), 2);
        drop((first, other));
        assert_eq!(gateways.live(), 1);
        drop(second);
        assert_eq!(gateways.live(), 1, "whoever asks is one");
        assert!(gateways.connections.lock().is_empty());
    }

    #[test]
    fn a_gateway_counts_once_however_many_nodes_it_is_connected_to() {
        let gateways = Arc::new(Gateways::default());
        let _here = [gateways.join(1), gateways.join(2)];
        gateways.hear(NodeId(2), Census::of([2, 3]));
        gateways.hear(NodeId(3), Census::of([1, 2, 3, 4]));
        assert_eq!((gateways.live(), gateways.census()), (4, Census::of([1, 2])));
        gateways.hear(NodeId(3), Census::of([3]));
        assert_eq!(gateways.live(), 3, "the later word counts");
        gateways.retain(|_| false);
        assert_eq!(gateways.live(), 2);
    }

    #[tokio::test]
    async fn news_from_other_nodes_wakes_whoever_waits() {
        let gateways = Gateways::default();
        gateways.hear(NodeId(2), Census::of([2]));
        gateways.changed().await;
        gateways.retain(|node| node == NodeId(3));
        gateways.changed().await;
        gateways.retain(|_| false);
        let news = tokio::time::timeout(std::time::Duration::ZERO, gateways.changed()).await;
        assert!(news.is_err(), "nothing has changed");
    }
}
