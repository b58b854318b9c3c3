//! Nodes that left for good, by their keys: one that did not hear of it is told so.

use std::collections::VecDeque;

use super::super::member::NodeKey;

/// Nodes that are remembered. One that comes back after as many others is not recognised, and joins as a new one.
pub(super) const LEFT_MAX: usize = 1_024;

/// The memory, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Left(VecDeque<NodeKey>);

impl Left {
    /// Whether a node has left.
    pub(super) fn contains(&self, key: NodeKey) -> bool {
        self.0.contains(&key)
    }

    /// Remembers a node, and forgets the oldest for it.
    pub(super) fn remember(&mut self, key: NodeKey) {
        if self.0.len() == LEFT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(key);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &NodeKey> {
        self.0.iter()
    }
}

impl FromIterator<NodeKey> for Left {
    fn from_iter<I: IntoIterator<Item = NodeKey>>(keys: I) -> Left {
        let mut left = Left::default();
        keys.into_iter().for_each(|key| left.remember(key));
        left
    }
}
