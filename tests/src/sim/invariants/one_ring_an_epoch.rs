//! Two nodes never disagree on an epoch's ring: an epoch names one set of members, weights, zones and seeds.

use std::collections::BTreeMap;

use tallyring_protocol::Topology;

use crate::sim::history::History;

pub(super) fn check(history: &History) -> Result<(), String> {
    let mut rings: BTreeMap<u64, (u64, Topology)> = BTreeMap::new();
    for sight in &history.sights {
        let Some(topology) = sight.state.topology(1) else { continue };
        let (first, known) = rings.entry(topology.epoch).or_insert_with(|| (sight.node, topology.clone()));
        if *known != topology {
            return Err(format!(
                "epoch {}: node {first} saw {known:?}, node {} {topology:?}",
                topology.epoch, sight.node
            ));
        }
    }
    Ok(())
}
