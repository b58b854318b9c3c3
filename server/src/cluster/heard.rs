//! When other nodes were last heard of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tallyring_protocol::NodeId;
use tokio::time::Instant;

/// Silence for longer than this interrupts: who is heard of again is heard of for the first time.
const GAP_MAX: Duration = Duration::from_secs(1);

/// When each node was heard of. Bounded by who is noted: the members of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<Mutex<BTreeMap<NodeId, Signs>>>);

/// The first and the last sign of life without an interruption.
#[derive(Clone, Copy, Debug)]
struct Signs {
    first: Instant,
    last: Instant,
}

impl Heard {
    /// A node is heard of now.
    pub fn note(&self, node: NodeId) {
        let now = Instant::now();
        let mut heard = self.0.lock();
        let signs = heard.entry(node).or_insert(Signs { first: now, last: now });
        if now - signs.last > GAP_MAX {
            signs.first = now;
        }
        signs.last = now;
    }

    /// Whether a node was heard of within this time.
    pub fn is_alive(&self, node: NodeId, within: Duration) -> bool {
        self.0.lock().get(&node).is_some_and(|signs| signs.last.elapsed() <= within)
    }

    /// Whether a node has been heard of without an interruption for so long, and still is.
    pub fn is_steady(&self, node: NodeId, since: Duration) -> bool {
        let signs = self.0.lock().get(&node).copied();
        signs.is_some_and(|signs| signs.last.elapsed() <= GAP_MAX && signs.first.elapsed() >= since)
    }

    /// Forgets everybody else.
    pub fn retain(&self, is_member: impl Fn(NodeId) -> bool) {
        self.0.lock().retain(|node, _| is_member(*node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_node_is_alive_for_a_while_after_it_was_heard_of() {
        let (heard, node) = (Heard::default(), NodeId(7));
        let within = Duration::from_secs(1);
        assert!(!heard.is_alive(node, within), "nobody has heard of it");
        heard.note(node);
        tokio::time::advance(within).await;
        assert!(heard.is_alive(node, within));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!heard.is_alive(node, within));
        heard.note(node);
        heard.retain(|other| other != node);
        assert!(!heard.is_alive(node, within), "it is no member");
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_comes_and_goes_is_not_steady() {
        let (heard, node) = (Heard::default(), NodeId(7));
        let mut steady = Vec::new();
        for silent_ms in [0, 900, 900, 900, 1_100, 900, 900, 900] {
            tokio::time::advance(Duration::from_millis(silent_ms)).await;
            heard.note(node);
            steady.push(heard.is_steady(node, Duration::from_secs(2)));
        }
        assert_eq!(steady, [false, false, false, true, false, false, false, true]);
        tokio::time::advance(Duration::from_millis(1_100)).await;
        assert!(!heard.is_steady(node, Duration::from_secs(2)), "it is silent");
    }
}
