//! What goes wrong: faults come when they are planned, and end.

use std::collections::BTreeMap;
use std::time::Duration;

use super::disk::Disk;
use super::plan::NODES;
use super::world::{World, name};

/// One fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// A node ends, loses what it has not synced, and starts again later.
    Crash { node: u64, down_for: Duration },
    /// The same, of whoever leads then.
    Behead { down_for: Duration },
    /// Nothing goes from one node to another for a while.
    Deafen { from: u64, to: u64, lasts: Duration },
    /// Nothing goes between a node and the others for a while.
    Isolate { node: u64, lasts: Duration },
    /// Whatever goes between a node and the others may take so long for a while.
    Slow { node: u64, latency: Duration, lasts: Duration },
    /// A node's clock counts time wrongly from now on.
    Quicken { node: u64, wrong_ppm: i64 },
    /// A node's wall clock is set.
    SetClock { node: u64, by_us: i64 },
    /// A node is told to leave; it comes back with an empty disk once it has.
    Leave { node: u64 },
}

/// A fault and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doom {
    pub(super) at: Duration,
    pub(super) fault: Fault,
}

/// The longest way of a message between two nodes that nobody has slowed.
pub(super) const LATENCY_MAX: Duration = Duration::from_millis(3);

/// Lets happen what was planned.
pub(super) struct Fate {
    pub(super) dooms: Vec<Doom>,
    pub(super) healed_at: Duration,
    /// What ends a fault, and when.
    pub(super) ends: Vec<(Duration, Fault)>,
    pub(super) disks: BTreeMap<u64, Disk>,
    pub(super) world: World,
}

impl Fate {
    pub(super) fn strike(&mut self, sim: &mut turmoil::Sim<'_>) {
        let now = sim.elapsed();
        let is_over = |at: Duration| at <= now || now >= self.healed_at;
        let (over, on): (Vec<_>, Vec<_>) = self.ends.drain(..).partition(|(at, _)| is_over(*at));
        self.ends = on;
        over.into_iter().for_each(|(_, fault)| self.end(fault, sim));
        while self.dooms.first().is_some_and(|doom| doom.at <= now) {
            let Doom { fault, .. } = self.dooms.remove(0);
            self.begin(fault, now, sim);
        }
        self.world.who_has_left().into_iter().for_each(|node| self.replace(node, sim));
    }

    fn begin(&mut self, fault: Fault, now: Duration, sim: &mut turmoil::Sim<'_>) {
        let fault = match fault {
            Fault::Behead { down_for } => match self.world.leader() {
                Some(node) => Fault::Crash { node, down_for },
                None => return,
            },
            fault => fault,
        };
        if self.ends.iter().any(|(_, other)| touches(*other) == touches(fault)) {
            return; // one trouble at a time for each node
        }
        self.world.note(now, format!("{fault:?}"));
        let lasts = match fault {
            Fault::Crash { node, down_for } => {
                self.crash(node, sim);
                down_for
            }
            Fault::Deafen { from, to, lasts } => {
                sim.partition_oneway(name(from), name(to));
                lasts
            }
            Fault::Isolate { node, lasts } => {
                others(node).for_each(|other| sim.partition(name(node), name(other)));
                lasts
            }
            Fault::Slow { node, latency, lasts } => {
                others(node).for_each(|other| sim.set_link_max_message_latency(name(node), name(other), latency));
                lasts
            }
            Fault::Quicken { node, wrong_ppm } => {
                let now_us = u64::try_from(now.as_micros()).expect("a few seconds");
                return self.world.machine(node).run_wrong_by(wrong_ppm, now_us);
            }
            Fault::SetClock { node, by_us } => return self.world.machine(node).step_wall(by_us),
            Fault::Leave { node } => return self.world.tell_to_leave(node),
            Fault::Behead { .. } => unreachable!("it is a crash"),
        };
        self.ends.push((now + lasts, fault));
    }

    fn end(&self, fault: Fault, sim: &mut turmoil::Sim<'_>) {
        self.world.note(sim.elapsed(), format!("over: {fault:?}"));
        match fault {
            Fault::Crash { node, .. } => sim.bounce(name(node)),
            Fault::Deafen { from, to, .. } => sim.repair_oneway(name(from), name(to)),
            Fault::Isolate { node, .. } => others(node).for_each(|other| sim.repair(name(node), name(other))),
            Fault::Slow { node, .. } => {
                others(node).for_each(|other| sim.set_link_max_message_latency(name(node), name(other), LATENCY_MAX));
            }
            _ => unreachable!("it has no end"),
        }
    }

    fn crash(&self, node: u64, sim: &mut turmoil::Sim<'_>) {
        self.disks[&node].pull_the_plug();
        self.world.has_ended(node);
        sim.crash(name(node));
    }

    /// A node that has left is another one from now on: it has an empty disk, and joins again.
    fn replace(&self, node: u64, sim: &mut turmoil::Sim<'_>) {
        self.world.note(sim.elapsed(), format!("node {node} has left"));
        let is_down =
            self.ends.iter().any(|(_, fault)| matches!(fault, Fault::Crash { node: down, .. } if *down == node));
        if !is_down {
            self.crash(node, sim);
        }
        self.disks[&node].wipe();
        self.world.is_another(node);
        if !is_down {
            sim.bounce(name(node));
        }
    }
}

fn touches(fault: Fault) -> Option<u64> {
    match fault {
        Fault::Crash { node, .. } | Fault::Isolate { node, .. } | Fault::Slow { node, .. } => Some(node),
        Fault::Deafen { from, .. } => Some(from),
        _ => None,
    }
}

fn others(node: u64) -> impl Iterator<Item = u64> {
    (1..=NODES).filter(move |other| *other != node)
}
