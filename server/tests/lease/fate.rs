//! What goes wrong, and when: drawn from the seed before the world begins.

use crate::dice::Dice;

/// When the first fault may come, in true microseconds.
const FAULTS_FROM_US: u64 = 2_500_000;

/// When the last fault has come; a crash or a pause may last longer.
pub(crate) const HEALED_US: u64 = 10_000_000;

/// One fault; durations in true microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// A process ends, and starts again later.
    Crash { node: u64, for_us: u64 },
    /// The same of whoever leads.
    CrashLeader { for_us: u64 },
    /// The same of the next leader that has just proposed a change.
    CrashMidChange { for_us: u64 },
    /// A machine stands still while its clock goes on.
    Pause { node: u64, for_us: u64 },
    /// Nothing goes from one node to another.
    Deafen { from: u64, to: u64, for_us: u64 },
    /// Nothing goes between a node and the others.
    Isolate { node: u64, for_us: u64 },
    /// Nothing goes between the nodes of the one set of bits and the others.
    Split { nodes: u64, for_us: u64 },
    /// A node gives its lease back, and comes back later.
    Drain { node: u64, for_us: u64 },
}

/// A world's misfortunes.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    /// Members from the beginning, and voters.
    pub(crate) nodes: u64,
    /// Whether one more joins while the others serve.
    pub(crate) one_joins: bool,
    /// Faults and their times.
    pub(crate) faults: Vec<(u64, Fault)>,
    /// Whether messages are late, lost and doubled, and threads sleep.
    pub(crate) weather: Weather,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    Calm,
    Rough,
}

impl Fate {
    /// Three nodes to which only this happens.
    pub(crate) fn calm(faults: Vec<(u64, Fault)>) -> Fate {
        Fate { nodes: 3, one_joins: false, faults, weather: Weather::Calm }
    }

    /// A leader proposes that node 1 is down, which only cannot speak, and ends before all know what became of it; its
    /// successor needs node 1's vote.
    pub(crate) fn inheritance() -> Fate {
        let mute = |to| (3_000_000, Fault::Deafen { from: 1, to, for_us: 620_000 });
        let end = (3_000_000, Fault::CrashMidChange { for_us: 3_000_000 });
        Fate::calm(vec![mute(2), mute(3), end])
    }

    pub(crate) fn draw(seed: u64) -> Fate {
        let dice = &mut Dice::new(seed ^ 0xfa7e);
        let nodes = if dice.one_in(3) { 5 } else { 3 };
        let mut faults = Vec::new();
        let mut at_us = FAULTS_FROM_US;
        while at_us < HEALED_US {
            faults.push((at_us, fault(dice, nodes)));
            at_us += if dice.one_in(3) { dice.between(1_000, 100_000) } else { dice.between(150_000, 900_000) };
        }
        Fate { nodes, one_joins: dice.one_in(2), faults, weather: Weather::Rough }
    }
}

fn fault(dice: &mut Dice, nodes: u64) -> Fault {
    let node = dice.between(1, nodes);
    let for_us = dice.between(20_000, 1_500_000);
    match dice.between(0, 10) {
        0 => Fault::Crash { node, for_us: dice.between(1_000, 40_000) },
        1 => Fault::Crash { node, for_us },
        2 => Fault::CrashLeader { for_us: dice.between(1_000, 1_500_000) },
        3 => Fault::Pause { node, for_us },
        4 | 5 => Fault::Deafen { from: node, to: 1 + node % nodes, for_us },
        6 => Fault::Isolate { node, for_us },
        7 | 8 => Fault::Split { nodes: dice.draw(), for_us },
        9 => Fault::CrashMidChange { for_us: dice.between(1_000, 1_500_000) },
        _ => Fault::Drain { node, for_us },
    }
}
