//! True time, the network, and what happens when.

use std::collections::BTreeMap;

use tallyring::cluster::control::member::Status;
use tallyring::cluster::lease::Roll;
use tallyring_protocol::NodeId;

use crate::Bug;
use crate::dice::Dice;
use crate::fate::{Fate, Fault, HEALED_US, Weather};
use crate::invariants::Ledger;
use crate::machine::{Clock, Machine};
use crate::message::{Body, Outbox};
use crate::shard::{Step, owner};

/// Keys in the world.
pub(crate) const KEYS: usize = 6;

/// How often a machine looks whether something is due, in true microseconds.
const TICK_US: u64 = 5_000;

/// How long everything may take to be whole again: who flaps waits for long.
const HEALS_WITHIN_US: u64 = 70_000_000;

/// A world to be.
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) bug: Option<Bug>,
    pub(crate) fate: Fate,
}

pub(crate) struct World {
    now_us: u64,
    dice: Dice,
    weather: Weather,
    /// By instant, and in order of what was planned first.
    plan: BTreeMap<(u64, u64), Event>,
    planned: u64,
    machines: Vec<Machine>,
    awake_us: Vec<u64>,
    /// From one machine to another: until when nothing goes.
    deaf_us: BTreeMap<(u64, u64), u64>,
    elections: Vec<u64>,
    /// The next leader that is changing something crashes for so long.
    doom_us: Option<u64>,
    ledger: Ledger,
}

#[derive(Debug)]
enum Event {
    Fault(Fault),
    Start { node: u64 },
    Tick { node: u64, start: u64 },
    Turn { node: u64, start: u64, step: Step },
    Deliver { from: u64, to: u64, body: Body },
}

impl World {
    pub(crate) fn new(setup: Setup) -> World {
        let Setup { seed, bug, fate } = setup;
        let mut dice = Dice::new(seed);
        let peers = fate.nodes + u64::from(fate.one_joins);
        let members = (1..=fate.nodes).map(|id| (NodeId(id), Status::Up)).collect();
        let roll = Roll { epoch: 1, members };
        let machine = |id| {
            let clock = clock(&mut dice, bug);
            Machine::new(id, peers, bug, clock, Dice::new(dice.draw()), roll.clone())
        };
        let machines: Vec<Machine> = (1..=peers).map(machine).collect();
        let mut world = World {
            now_us: 0,
            dice,
            weather: fate.weather,
            plan: BTreeMap::new(),
            planned: 0,
            awake_us: vec![0; machines.len()],
            machines,
            deaf_us: BTreeMap::new(),
            elections: Vec::new(),
            doom_us: None,
            ledger: Ledger::new(KEYS),
        };
        (1..=peers).for_each(|node| world.plan(0, Event::Start { node }));
        fate.faults.into_iter().for_each(|(at_us, fault)| world.plan(at_us, Event::Fault(fault)));
        world
    }

    pub(crate) fn findings(&self) -> &[String] {
        &self.ledger.findings
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.ledger.accepted
    }

    /// When a leader was elected after some instant.
    pub(crate) fn elected_after(&self, at_us: u64) -> Option<u64> {
        self.elections.iter().copied().find(|elected_us| *elected_us > at_us)
    }

    /// Turns for which an owner that is up had no lease.
    pub(crate) fn refused_since(&self, at_us: u64) -> usize {
        let up = self.machines.iter().filter(|machine| machine.is_up);
        up.flat_map(|machine| &machine.shard.refused_at_us).filter(|refused_us| **refused_us > at_us).count()
    }

    pub(crate) fn run_until(&mut self, until_us: u64) {
        while let Some(((at_us, _), event)) = self.plan.pop_first() {
            self.now_us = at_us;
            self.happen(event);
            if at_us > until_us {
                break;
            }
        }
    }

    /// Goes on until every node serves what is its own, which is the last invariant.
    pub(crate) fn run_until_healed(&mut self) {
        self.deaf_us.clear();
        while !self.everybody_serves() {
            if self.now_us > HEALED_US + HEALS_WITHIN_US {
                self.ledger.findings.push("everybody serves again: somebody does not".to_owned());
                return;
            }
            self.run_until(self.now_us + 100_000);
        }
    }

    fn everybody_serves(&self) -> bool {
        let members: BTreeMap<NodeId, Status> = (1..=self.peers()).map(|id| (NodeId(id), Status::Up)).collect();
        let all_up = Roll { epoch: 0, members };
        let serves = |key| self.ledger.is_served(key, owner(key, &all_up).0, self.now_us.saturating_sub(100_000));
        self.machines.iter().all(|machine| machine.disk.agreed.roll.members == all_up.members) && (0..KEYS).all(serves)
    }

    fn peers(&self) -> u64 {
        self.machines.len() as u64
    }

    fn plan(&mut self, at_us: u64, event: Event) {
        self.planned += 1;
        self.plan.insert((at_us, self.planned), event);
    }

    fn machine(&mut self, node: u64) -> &mut Machine {
        &mut self.machines[index(node)]
    }

    fn happen(&mut self, event: Event) {
        let node = match event {
            Event::Fault(fault) => return self.strike(fault),
            Event::Start { node } => return self.start(node),
            Event::Tick { node, .. } | Event::Turn { node, .. } | Event::Deliver { to: node, .. } => node,
        };
        if self.awake_us[index(node)] > self.now_us {
            // In any order, once it wakes up.
            let at_us = self.awake_us[index(node)] + self.dice.between(0, 300);
            return self.plan(at_us, event);
        }
        let (machine, now_us) = (&mut self.machines[index(node)], self.now_us);
        let is_this = |start| machine.is_up && machine.start == start;
        let (clock_us, mut out) = (machine.clock.at(now_us), Outbox::new());
        match event {
            Event::Tick { start, .. } if is_this(start) => {
                machine.tick(clock_us, &mut out);
                self.plan(now_us + TICK_US, Event::Tick { node, start });
            }
            Event::Turn { start, step, .. } if is_this(start) => {
                let step = machine.turn(step, now_us, &mut self.ledger, &mut out);
                let at_us = now_us + self.rest_us(step);
                self.plan(at_us, Event::Turn { node, start, step });
            }
            Event::Deliver { from, body, .. } if machine.is_up => {
                let led = machine.leads();
                machine.receive(clock_us, from, body, &mut out);
                if !led && machine.leads() {
                    self.elections.push(now_us);
                }
            }
            _ => {}
        }
        out.into_iter().for_each(|(to, body)| self.send(node, to, body));
        if let Some(for_us) = self.doom_us.take_if(|_| self.machines[index(node)].is_changing()) {
            let at_us = now_us + self.dice.between(0, 40_000);
            self.plan(at_us, Event::Fault(Fault::Crash { node, for_us }));
        }
    }

    /// How long a thread takes until a step, or sleeps.
    fn rest_us(&mut self, step: Step) -> u64 {
        if self.weather == Weather::Rough && self.dice.one_in(600) {
            return self.dice.between(0, 900_000);
        }
        match step {
            Step::Begin => self.dice.between(1_000, 8_000),
            Step::Decide | Step::Look | Step::Write => self.dice.between(10, 400),
        }
    }

    fn send(&mut self, from: u64, to: u64, body: Body) {
        let deaf_us = self.deaf_us.get(&(from, to)).copied().unwrap_or(0);
        let is_lost = self.now_us < deaf_us || self.weather == Weather::Rough && self.dice.one_in(50);
        if is_lost && from != to {
            return;
        }
        if self.weather == Weather::Rough && self.dice.one_in(50) {
            self.deliver(from, to, body.clone());
        }
        self.deliver(from, to, body);
    }

    fn deliver(&mut self, from: u64, to: u64, body: Body) {
        let is_late = self.weather == Weather::Rough && self.dice.one_in(20);
        let takes_us = if is_late { self.dice.between(1_000, 600_000) } else { self.dice.between(50, 1_500) };
        self.plan(self.now_us + takes_us, Event::Deliver { from, to, body });
    }

    fn start(&mut self, node: u64) {
        let now_us = self.now_us;
        let machine = self.machine(node);
        machine.boot(machine.clock.at(now_us));
        let start = machine.start;
        self.plan(now_us, Event::Tick { node, start });
        self.plan(now_us, Event::Turn { node, start, step: Step::Begin });
    }

    fn strike(&mut self, fault: Fault) {
        let now_us = self.now_us;
        match fault {
            Fault::Crash { node, for_us } if self.machine(node).is_up => {
                self.machine(node).crash();
                self.plan(now_us + for_us, Event::Start { node });
            }
            Fault::Crash { .. } => {}
            Fault::CrashLeader { for_us } => {
                let leader = self.machines.iter().find(|machine| machine.leads()).map(|leader| leader.id);
                leader.into_iter().for_each(|node| self.strike(Fault::Crash { node, for_us }));
            }
            Fault::CrashMidChange { for_us } => self.doom_us = Some(for_us),
            Fault::Pause { node, for_us } => self.awake_us[index(node)] = now_us + for_us,
            Fault::Deafen { from, to, for_us } => drop(self.deaf_us.insert((from, to), now_us + for_us)),
            Fault::Isolate { node, for_us } => {
                for peer in self.machine(node).others() {
                    self.deaf_us.insert((node, peer), now_us + for_us);
                    self.deaf_us.insert((peer, node), now_us + for_us);
                }
            }
            Fault::Split { nodes, for_us } => {
                let is_cut = |(one, other): &(u64, u64)| (nodes >> one ^ nodes >> other) & 1 == 1;
                let peers = self.peers();
                let pairs = (1..=peers).flat_map(|from| (1..=peers).map(move |to| (from, to)));
                self.deaf_us.extend(pairs.filter(is_cut).map(|pair| (pair, now_us + for_us)));
            }
            Fault::Drain { node, for_us } => {
                let machine = self.machine(node);
                machine.drains_until_us = Some(machine.clock.at(now_us) + for_us);
            }
        }
    }
}

/// A clock that is wrong by half a percent at most, so that no two are a percent apart.
fn clock(dice: &mut Dice, bug: Option<Bug>) -> Clock {
    let wrong_ppm = if bug == Some(Bug::WildClocks) { 100_000 } else { 4_950 };
    let drawn = i64::try_from(dice.between(0, 2 * wrong_ppm)).expect("small");
    let wrong_ppm = drawn - i64::try_from(wrong_ppm).expect("small");
    Clock { booted_us: dice.between(1_000_000_000, 2_000_000_000), wrong_ppm }
}

fn index(node: u64) -> usize {
    usize::try_from(node - 1).expect("nodes are few, from 1 on")
}
