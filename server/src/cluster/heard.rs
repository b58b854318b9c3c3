//! When other nodes were last heard of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tallyring_protocol::NodeId;
use tokio::time::Instant;

/// When each node was last heard of. Bounded by who is noted: the members of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<Mutex<BTreeMap<NodeId, Instant>>>);

impl Heard {
    /// A node is heard of now.
    pub fn note(&self, node: NodeId) {
        self.0.lock().insert(node, Instant::now());
    }

    /// Whether a node was heard of within this time.
    pub fn is_alive(&self, node: NodeId, within: Duration) -> bool {
        self.0.lock().get(&node).is_some_and(|at| at.elapsed() <= within)
    }

    /// Forgets everybody that is no member.
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
}
