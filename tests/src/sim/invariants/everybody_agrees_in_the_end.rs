//! After the healing rules can be pushed again, within seconds, and every node comes to the same state.

use std::time::Duration;

use crate::sim::history::History;
use crate::sim::plan::NODES;

/// How long after the healing the first push is acknowledged, at most.
const ALIVE_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn check(history: &History) -> Result<(), String> {
    if !history.acked.iter().any(|ack| ack.at > history.healed_at && ack.at < history.healed_at + ALIVE_WITHIN) {
        return Err(format!("no push was acknowledged within {ALIVE_WITHIN:?} of the healing"));
    }
    let last = history.last();
    let mut states = last.values();
    let first = states.next().ok_or("nobody was seen")?;
    if last.len() != NODES as usize || first.members().len() != NODES as usize {
        return Err(format!("{} nodes were seen, {} are members", last.len(), first.members().len()));
    }
    match states.find(|state| *state != first) {
        Some(other) => {
            Err(format!("one ends with {:?}, another with {:?}", first.rules().version(), other.rules().version()))
        }
        None => Ok(()),
    }
}
