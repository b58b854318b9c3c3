//! A node's clock never goes back while the node runs, whatever is done to its machine's clock and whoever leads.

use std::collections::BTreeMap;

use crate::sim::history::History;

pub(super) fn check(history: &History) -> Result<(), String> {
    let mut shown: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for reading in history.readings.iter().flatten() {
        let before = shown.insert((reading.node, reading.run), reading.shows_us).unwrap_or(0);
        if reading.shows_us < before {
            return Err(format!(
                "node {} went from {before} to {} at {:?}",
                reading.node, reading.shows_us, reading.at
            ));
        }
    }
    Ok(())
}
