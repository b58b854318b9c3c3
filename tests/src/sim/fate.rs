//! What goes wrong, and when: drawn from the seed before the simulation begins.

use std::time::Duration;

use tallyring::sys::random;

use crate::world::NODES;

/// When the first fault may come: the cluster is whole by then.
pub(crate) const FAULTS_FROM: Duration = Duration::from_secs(3);

/// When everything is whole again.
pub(crate) const HEALED_AT: Duration = Duration::from_secs(12);

/// One fault.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// A node ends, loses what it has not synced, and starts again later.
    Crash { node: u64, down_for: Duration },
    /// Nothing goes from one node to another for a while.
    Deafen { from: u64, to: u64, lasts: Duration },
    /// Nothing goes between a node and the others for a while.
    Isolate { node: u64, lasts: Duration },
}

/// A fault and its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doom {
    pub at: Duration,
    pub fault: Fault,
}

/// The faults of a simulation, in order.
pub(crate) fn draw() -> Vec<Doom> {
    let mut dooms = Vec::new();
    let mut at = FAULTS_FROM;
    while at < HEALED_AT {
        dooms.push(Doom { at, fault: fault() });
        at += if random::up_to(3) == 0 { ms(10, 150) } else { ms(200, 1_200) };
    }
    dooms
}

fn fault() -> Fault {
    let node = node();
    match random::up_to(2) {
        0 => Fault::Crash { node, down_for: if random::up_to(1) == 0 { ms(5, 50) } else { ms(50, 1_500) } },
        1 => Fault::Deafen { from: node, to: 1 + node % NODES, lasts: ms(50, 1_500) },
        _ => Fault::Isolate { node, lasts: ms(50, 1_500) },
    }
}

fn node() -> u64 {
    1 + random::up_to(NODES - 1)
}

fn ms(from: u64, to: u64) -> Duration {
    Duration::from_millis(from + random::up_to(to - from))
}
