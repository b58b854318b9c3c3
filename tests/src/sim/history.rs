//! What was seen of a simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tallyring::cluster::control::state::State;

/// What a node knew at an instant.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    pub at: Duration,
    pub node: u64,
    pub state: Arc<State>,
}

/// A push that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub at: Duration,
    pub lineage: u64,
    pub version: u64,
    pub text: String,
}

/// A simulation, from the outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub sights: Vec<Sight>,
    pub acked: Vec<Ack>,
    /// Pushes of which nobody knows what became of them, or that were refused.
    pub failed: usize,
    pub crashes: usize,
    /// Who led in which term.
    pub terms: BTreeMap<u64, BTreeSet<u64>>,
    /// Why a node ended by itself, if one did: the simulation ends there.
    pub gave_up: Option<String>,
    /// What happened, for whoever has to find out why.
    pub events: Vec<String>,
}

impl History {
    /// The last state that each node was seen with.
    pub(crate) fn last(&self) -> BTreeMap<u64, &State> {
        self.sights.iter().map(|sight| (sight.node, &*sight.state)).collect()
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in &self.events {
            writeln!(f, "  {event}")?;
        }
        for (node, state) in self.last() {
            let rules = state.rules().version();
            writeln!(f, "  node {node} ends at epoch {}, rules {}", state.epoch(), rules.version)?;
        }
        Ok(())
    }
}
