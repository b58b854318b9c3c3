//! A push that was proposed again, because its answer was lost, is published once: its text stands in the history once.

use std::collections::BTreeSet;

use crate::sim::history::History;

pub(super) fn check(history: &History) -> Result<(), String> {
    for (node, state) in history.last() {
        let mut texts = BTreeSet::new();
        if let Some(twice) = state.rules().editions().find(|edition| !texts.insert(edition.text.as_str())) {
            return Err(format!("node {node} has {:?} twice, again as version {}", twice.text, twice.imprint.version));
        }
    }
    Ok(())
}
