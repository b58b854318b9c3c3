//! One simulation: nodes with their disks and clocks, an author of rules, somebody who looks at clocks, and fate.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tallyring::cluster::control::begin::{BeginError, Beginning};
use tallyring::cluster::control::change::{Publish, Seeds, What};
use tallyring::cluster::control::member::{Addresses, Member, NodeKey};
use tallyring::cluster::control::outcome::Outcome;
use tallyring::cluster::control::packed::Packed;
use tallyring::cluster::control::raft::store::Store;
use tallyring::cluster::control::timing::Timing;
use tallyring::cluster::control::{Control, ControlError, ControlSetup, Standing};
use tallyring::cluster::pulse::Pulse;
use tallyring::sys::clock::{Clock, Machine};
use tallyring::sys::net::Bound;
use tallyring::sys::random;
use tallyring::tokens::LiveTokens;
use tallyring_protocol::NodeId;
use tokio_util::sync::CancellationToken;

use super::bug::{self, Bug};
use super::disk::Disk;
use super::fate::{Fate, LATENCY_MAX};
use super::history::{Ack, History, Reading, Sight};
use super::plan::{NODES, Plan, signed};

const PEER_PORT: u16 = 4174;

/// Who changes things. There are two, so that something happens between a push and its repetition.
const AUTHORS: [&str; 2] = ["alice", "bob"];

/// How long the author waits for an answer: a node that crashes meanwhile gives none.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often clocks are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How far a wall clock may be off at first, in microseconds.
const WALL_OFF_US_MAX: i64 = 20_000;

/// How wrongly a clock may count at first, in parts per million.
const WRONG_PPM_MAX: i64 = 5_000;

/// What hosts, author and fate share.
#[derive(Clone)]
pub(super) struct World(Rc<RefCell<Shared>>);

struct Shared {
    history: History,
    /// The nodes that run.
    running: BTreeMap<u64, Running>,
    /// What stays of a node when it ends.
    places: BTreeMap<u64, Place>,
    /// Nodes that are to leave.
    leaving: Vec<u64>,
}

#[derive(Clone)]
struct Running {
    control: Control,
    pulse: Pulse,
}

struct Place {
    machine: &'static Machine,
    /// How often the node has left and come back as another one.
    life: u64,
    /// How often it was started.
    runs: u64,
    /// The key of this life, once it is a member.
    key: Option<NodeKey>,
}

impl World {
    fn new(healed_at: Duration) -> World {
        let place = |node| {
            // Leaked: a clock is copied to every thread, and a simulation has a handful of machines.
            let machine: &'static Machine = Box::leak(Box::new(Machine::ahead_by(signed(WALL_OFF_US_MAX))));
            machine.run_wrong_by(signed(WRONG_PPM_MAX), 0);
            (node, Place { machine, life: 0, runs: 0, key: None })
        };
        World(Rc::new(RefCell::new(Shared {
            history: History { healed_at, ..History::default() },
            running: BTreeMap::new(),
            places: (1..=NODES).map(place).collect(),
            leaving: Vec::new(),
        })))
    }

    pub(super) fn note(&self, at: Duration, what: String) {
        self.0.borrow_mut().history.events.push(format!("{at:?} {what}"));
    }

    pub(super) fn machine(&self, node: u64) -> &'static Machine {
        self.0.borrow().places[&node].machine
    }

    pub(super) fn tell_to_leave(&self, node: u64) {
        self.0.borrow_mut().leaving.push(node);
    }

    /// Who leads, as far as the nodes that run know.
    pub(super) fn leader(&self) -> Option<u64> {
        let shared = self.0.borrow();
        let standings = shared.running.iter().map(|(node, running)| (*node, running.control.standing()));
        standings.filter(|(_, standing)| standing.leads).max_by_key(|(_, standing)| standing.term).map(|(node, _)| node)
    }

    pub(super) fn has_ended(&self, node: u64) {
        let mut shared = self.0.borrow_mut();
        shared.running.remove(&node);
        shared.history.crashes += 1;
    }

    /// The nodes of which another one knows that they have left.
    pub(super) fn who_has_left(&self) -> Vec<u64> {
        let shared = self.0.borrow();
        let states: Vec<_> = shared.running.values().map(|running| running.control.state()).collect();
        let has_left = |place: &Place| place.key.is_some_and(|key| states.iter().any(|state| state.has_left(key)));
        shared.places.iter().filter(|(_, place)| has_left(place)).map(|(node, _)| *node).collect()
    }

    pub(super) fn is_another(&self, node: u64) {
        let mut shared = self.0.borrow_mut();
        let place = shared.places.get_mut(&node).expect("every node has a place");
        (place.life, place.key) = (place.life + 1, None);
        shared.history.returns += 1;
    }

    fn anybody(&self) -> Option<Control> {
        let shared = self.0.borrow();
        let nth = random::up_to(shared.running.len().checked_sub(1)? as u64);
        shared.running.values().nth(usize::try_from(nth).ok()?).map(|running| running.control.clone())
    }

    /// A node starts; what it is in this life, and how often it has left.
    fn starts(&self, node: u64) -> (&'static Machine, u64) {
        let mut shared = self.0.borrow_mut();
        let place = shared.places.get_mut(&node).expect("every node has a place");
        place.runs += 1;
        (place.machine, place.life)
    }

    fn runs(&self, node: u64, running: Running) {
        let mut shared = self.0.borrow_mut();
        let key = running.control.state().members().get(&NodeId(node)).map(|member| member.key);
        shared.places.get_mut(&node).expect("every node has a place").key = key;
        shared.running.insert(node, running);
    }

    fn sees(&self, sight: Sight, standing: &Standing) {
        let Sight { at, node, ref state, .. } = sight;
        let (epoch, rules) = (state.epoch(), state.rules().version().version);
        let lead = if standing.leads { ", leads" } else { "" };
        self.note(at, format!("node {node}: epoch {epoch}, rules {rules}, term {}{lead}", standing.term));
        let history = &mut self.0.borrow_mut().history;
        if standing.leads {
            history.terms.entry(standing.term).or_default().insert(node);
            if history.terms.keys().max() == Some(&standing.term) {
                history.voters = standing.voters.iter().map(|voter| voter.0).collect();
            }
        }
        history.sights.push(sight);
    }

    fn look_at_clocks(&self) {
        let mut shared = self.0.borrow_mut();
        let Shared { running, places, history, .. } = &mut *shared;
        let reading = |(node, Running { control, pulse }): (&u64, &Running)| {
            let standing = control.standing();
            Reading {
                at: elapsed(),
                node: *node,
                run: places[node].runs,
                shows_us: pulse.clock().now_us(),
                leads: standing.leads.then_some(standing.term),
                leader: standing.leader.map(|leader| leader.0),
                deviation: pulse.timekeeper().deviation(),
            }
        };
        history.readings.push(running.iter().map(reading).collect());
    }
}

/// Simulations are one after the other: one that runs beside another one in a process has another trace than alone.
static ALONE: Mutex<()> = Mutex::new(());

/// One whole simulation.
pub(super) fn run(seed: u64, bug: Option<Bug>, plan: impl FnOnce() -> Plan) -> History {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    random::start_from(seed);
    bug::put_in(bug);
    let plan = plan();
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .simulation_duration(Duration::from_secs(120))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(LATENCY_MAX)
        .tcp_capacity(4_096)
        .build();
    let world = World::new(plan.healed_at);
    let disk = |node| (node, Disk::new(bug == Some(Bug::UnsyncedWrites)));
    let disks: BTreeMap<u64, Disk> = (1..=NODES).map(disk).collect();
    for (node, disk) in &disks {
        let (node, disk, world) = (*node, disk.clone(), world.clone());
        sim.host(name(node), move || live(node, disk.clone(), world.clone()));
    }
    for author in AUTHORS {
        sim.client(author, change_things(author, world.clone(), plan.quiet_at, plan.ends_at));
    }
    sim.client("observer", look_at_clocks(world.clone(), plan.ends_at));
    let (dooms, healed_at) = (plan.dooms, plan.healed_at);
    let mut fate = Fate { dooms, healed_at, ends: Vec::new(), disks, world: world.clone() };
    loop {
        match sim.step() {
            Ok(true) => break,
            Ok(false) => fate.strike(&mut sim),
            Err(error) => {
                world.0.borrow_mut().history.gave_up = Some(error.to_string());
                break;
            }
        }
    }
    drop(sim);
    bug::put_in(None);
    let mut shared = world.0.borrow_mut();
    shared.running.clear();
    std::mem::take(&mut shared.history)
}

pub(super) fn name(node: u64) -> String {
    format!("n{node}")
}

fn member(node: u64) -> Member {
    let address = |port| format!("{}:{port}", name(node));
    let (native, http, resp, peer) = (address(4170), address(4171), address(4172), address(PEER_PORT));
    Member::new(NodeId(node), Addresses { native, http, resp, peer })
}

/// The first node founds the cluster, in its first life; whoever comes later asks all the others.
fn beginning(node: u64, life: u64) -> Beginning {
    match (node, life) {
        (1, 0) => Beginning::Found(Seeds { placement: [1; 16], identity: [2; 16] }),
        (_, 0) => Beginning::Join(vec![member(1).addresses.peer]),
        _ => Beginning::Join(
            (1..=NODES).filter(|other| *other != node).map(|other| member(other).addresses.peer).collect(),
        ),
    }
}

/// A node, from its start until it crashes.
async fn live(node: u64, disk: Disk, world: World) -> turmoil::Result {
    let (machine, life) = world.starts(node);
    let pulse = Pulse::new(Clock::of(machine));
    let setup = ControlSetup {
        store: Store::on(disk.drive())?,
        member: member(node),
        beginning: beginning(node, life),
        listener: Bound::listen((Ipv4Addr::UNSPECIFIED, PEER_PORT).into()).await?,
        guests: tokio::sync::mpsc::channel(1).0,
        certificates: None,
        token: "".into(),
        tokens: Arc::new(LiveTokens::default()),
        pulse: pulse.clone(),
        timing: Timing::default(),
        draining: CancellationToken::new(),
    };
    let (control, _thread) = match Control::start(setup).await {
        // It has heard of it before anybody who watches: it will be another one in a moment.
        Err(ControlError::Begin(BeginError::Left(_))) => return std::future::pending().await,
        started => started?,
    };
    world.runs(node, Running { control: control.clone(), pulse });
    let (mut states, mut standings) = (control.states(), control.standings());
    loop {
        let state = Arc::clone(&states.borrow_and_update());
        let standing = standings.borrow_and_update().clone();
        world.sees(Sight { at: elapsed(), node, life, state }, &standing);
        tokio::select! {
            biased;
            changed = states.changed() => changed?,
            changed = standings.changed() => changed?,
        }
    }
}

fn elapsed() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

async fn look_at_clocks(world: World, ends_at: Duration) -> turmoil::Result {
    while elapsed() < ends_at {
        world.look_at_clocks();
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// Publishes one version after another, and reweighs nodes and has them leave in between, at any node that runs.
async fn change_things(author: &str, world: World, quiet_at: Duration, ends_at: Duration) -> turmoil::Result {
    let mut number = 0_u64;
    while elapsed() < quiet_at {
        tokio::time::sleep(Duration::from_millis(50 + random::up_to(160))).await;
        let Some(control) = world.anybody() else { continue };
        let leaving = world.0.borrow_mut().leaving.pop();
        if let Some(node) = leaving {
            let _ = tokio::time::timeout(PATIENCE, control.propose(What::Leave(NodeId(node)))).await;
            continue;
        }
        if random::up_to(3) == 0 {
            let weight = if random::up_to(1) == 0 { 1 } else { 2 };
            let reweigh = What::Reweigh { node: NodeId(1 + random::up_to(NODES - 1)), weight };
            let _ = tokio::time::timeout(PATIENCE, control.propose(reweigh)).await;
            continue;
        }
        number += 1;
        publish(&world, &control, format!("# push {number} of {author}\n")).await;
    }
    tokio::time::sleep(ends_at.saturating_sub(elapsed())).await;
    Ok(())
}

async fn publish(world: &World, control: &Control, text: String) {
    let publish = Publish {
        text: Packed::new(&text.clone().into()).expect("a short text"),
        author: "author".into(),
        comment: "".into(),
        expect: None,
    };
    let proposed = tokio::time::timeout(PATIENCE, control.propose(What::Publish(publish))).await;
    let at = elapsed();
    let history = &mut world.0.borrow_mut().history;
    match proposed {
        Ok(Ok(Outcome::Published { lineage, version, .. })) => {
            history.events.push(format!("{at:?} acknowledged: version {version}"));
            history.acked.push(Ack { at, lineage, version, text });
        }
        _ => history.failed += 1,
    }
}
