//! A version of the rules that was acknowledged is in every node's history in the end, with its own text.

use crate::sim::history::History;

pub(super) fn check(history: &History) -> Result<(), String> {
    for (node, state) in history.last() {
        for ack in &history.acked {
            let kept = state.rules().edition(ack.version).map(|edition| edition.text.as_str());
            if kept != Some(&*ack.text) || state.rules().version().lineage != ack.lineage {
                return Err(format!(
                    "node {node} has {kept:?} as version {}, acknowledged was {:?}",
                    ack.version, ack.text
                ));
            }
        }
    }
    Ok(())
}
