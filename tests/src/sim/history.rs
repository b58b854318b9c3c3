//! What was seen of a simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tallyring::cluster::control::state::State;
use tallyring::cluster::time::Deviation;

/// What a node knew at an instant.
#[derive(Clone, Debug)]
pub struct Sight {
    /// When.
    pub at: Duration,
    /// Who.
    pub node: u64,
    /// How often it has left and come back as another one.
    pub life: u64,
    /// What it knew.
    pub state: Arc<State>,
}

/// What a node's clock showed at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// When.
    pub at: Duration,
    /// Whose.
    pub node: u64,
    /// How often it was started.
    pub run: u64,
    /// What it showed, in microseconds since the Unix epoch.
    pub shows_us: u64,
    /// The term in which it leads.
    pub leads: Option<u64>,
    /// Whom it takes for the leader.
    pub leader: Option<u64>,
    /// What it knew about itself.
    pub deviation: Deviation,
}

/// A push that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// When.
    pub at: Duration,
    /// Its lineage.
    pub lineage: u64,
    /// Its number.
    pub version: u64,
    /// What was pushed.
    pub text: String,
}

/// A simulation, from the outside.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// When everything was whole again.
    pub healed_at: Duration,
    /// What the nodes knew.
    pub sights: Vec<Sight>,
    /// What their clocks showed, all at the same instants.
    pub readings: Vec<Vec<Reading>>,
    /// Pushes that were acknowledged.
    pub acked: Vec<Ack>,
    /// Pushes of which nobody knows what became of them, or that were refused.
    pub failed: usize,
    /// Nodes that ended by force.
    pub crashes: usize,
    /// Nodes that left, and came back as others.
    pub returns: usize,
    /// Who led in which term.
    pub terms: BTreeMap<u64, BTreeSet<u64>>,
    /// Who votes, as the leader of the last term knew last.
    pub voters: BTreeSet<u64>,
    /// Why a node ended by itself, if one did: the simulation ends there.
    pub gave_up: Option<String>,
    /// What happened, for whoever has to find out why.
    pub events: Vec<String>,
}

impl History {
    /// The last state that each node was seen with.
    pub fn last(&self) -> BTreeMap<u64, &State> {
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
        for Reading { node, shows_us, deviation, .. } in self.readings.last().into_iter().flatten() {
            writeln!(f, "  node {node}'s clock ends at {shows_us}, {} us behind by its own word", deviation.behind_us)?;
        }
        Ok(())
    }
}
