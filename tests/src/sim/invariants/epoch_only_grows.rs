//! A node's epoch only grows, also over its crashes: a client that was told of a ring is never told of an older one.

use std::collections::BTreeMap;

use crate::sim::history::History;

pub(super) fn check(history: &History) -> Result<(), String> {
    let mut epochs: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for sight in &history.sights {
        let epoch = sight.state.epoch();
        let before = epochs.insert((sight.node, sight.life), epoch).unwrap_or(0);
        if epoch < before {
            return Err(format!("node {} fell from {before} to {epoch} at {:?}", sight.node, sight.at));
        }
    }
    Ok(())
}
