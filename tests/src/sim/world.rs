//! One simulation: three nodes with their disks, an author of rules, and fate.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tallyring::cluster::control::begin::Beginning;
use tallyring::cluster::control::change::{Publish, Seeds, What};
use tallyring::cluster::control::member::{Addresses, Member, NodeKey, Status};
use tallyring::cluster::control::outcome::Outcome;
use tallyring::cluster::control::packed::Packed;
use tallyring::cluster::control::raft::store::Store;
use tallyring::cluster::control::state::FEATURE_LEVEL;
use tallyring::cluster::control::timing::Timing;
use tallyring::cluster::control::{Control, ControlSetup};
use tallyring::cluster::pulse::Pulse;
use tallyring::sys::clock::Clock;
use tallyring::sys::net::Bound;
use tallyring::sys::random;
use tallyring::tokens::LiveTokens;
use tallyring_protocol::NodeId;
use tokio_util::sync::CancellationToken;

use crate::disk::Disk;
use crate::fate::{self, Doom, Fault, HEALED_AT};
use crate::history::{Ack, History, Sight};

/// Nodes of the cluster.
pub(crate) const NODES: u64 = 3;

/// When the author stops, and the last word must reach everybody.
const ENDS_AT: Duration = Duration::from_millis(15_000);
const QUIET_AT: Duration = Duration::from_millis(14_000);

const PEER_PORT: u16 = 4174;

/// How long the author waits for an answer: a node that crashes meanwhile gives none.
const PATIENCE: Duration = Duration::from_millis(500);

/// What hosts, author and fate share.
#[derive(Clone, Default)]
struct World {
    history: Rc<RefCell<History>>,
    /// The nodes that run, for the author.
    running: Rc<RefCell<BTreeMap<u64, Control>>>,
}

/// One whole simulation.
pub(crate) fn run(seed: u64) -> History {
    random::start_from(seed);
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .simulation_duration(Duration::from_secs(60))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(3))
        .tcp_capacity(4_096)
        .build();
    let world = World::default();
    let disks: BTreeMap<u64, Disk> = (1..=NODES).map(|node| (node, Disk::default())).collect();
    for (node, disk) in &disks {
        let (node, disk, world) = (*node, disk.clone(), world.clone());
        sim.host(name(node), move || live(node, disk.clone(), world.clone()));
    }
    sim.client("author", change_things(world.clone()));
    let mut fate = Fate { dooms: fate::draw(), ends: Vec::new(), disks, world: world.clone() };
    loop {
        match sim.step() {
            Ok(true) => break,
            Ok(false) => fate.strike(&mut sim),
            Err(error) => {
                world.history.borrow_mut().gave_up = Some(error.to_string());
                break;
            }
        }
    }
    drop(sim);
    world.history.take()
}

fn name(node: u64) -> String {
    format!("n{node}")
}

/// A node, from its start until it crashes.
async fn live(node: u64, disk: Disk, world: World) -> turmoil::Result {
    let address = |port| format!("{}:{port}", name(node));
    let member = Member {
        id: NodeId(node),
        key: NodeKey(0),
        addresses: Addresses {
            native: address(4170),
            http: address(4171),
            resp: address(4172),
            peer: address(PEER_PORT),
        },
        zone: String::new(),
        weight: 1,
        shards: 1,
        feature_level: FEATURE_LEVEL,
        version: String::new(),
        status: Status::Up,
    };
    let beginning = match node {
        1 => Beginning::Found(Seeds { placement: [1; 16], identity: [2; 16] }),
        _ => Beginning::Join(vec![format!("{}:{PEER_PORT}", name(1))]),
    };
    let setup = ControlSetup {
        store: Store::on(disk.drive())?,
        member,
        beginning,
        listener: Bound::listen((Ipv4Addr::UNSPECIFIED, PEER_PORT).into()).await?,
        guests: tokio::sync::mpsc::channel(1).0,
        certificates: None,
        token: "".into(),
        tokens: Arc::new(LiveTokens::default()),
        pulse: Pulse::new(Clock::start()),
        timing: Timing::default(),
        draining: CancellationToken::new(),
    };
    let (control, _thread) = Control::start(setup).await?;
    world.running.borrow_mut().insert(node, control.clone());
    let (mut states, mut standings) = (control.states(), control.standings());
    loop {
        {
            let mut history = world.history.borrow_mut();
            let state = Arc::clone(&states.borrow_and_update());
            history.sights.push(Sight { at: elapsed(), node, state });
            let standing = standings.borrow_and_update();
            if standing.leads {
                history.terms.entry(standing.term).or_default().insert(node);
            }
        }
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

/// Publishes one version after another, and reweighs nodes in between, at any node that runs.
async fn change_things(world: World) -> turmoil::Result {
    let mut number = 0_u64;
    while elapsed() < QUIET_AT {
        tokio::time::sleep(Duration::from_millis(20 + random::up_to(80))).await;
        let Some(control) = anybody(&world) else { continue };
        if random::up_to(3) == 0 {
            let weight = 1 + u32::try_from(random::up_to(2)).unwrap();
            let reweigh = What::Reweigh { node: NodeId(1 + random::up_to(NODES - 1)), weight };
            let _ = tokio::time::timeout(PATIENCE, control.propose(reweigh)).await;
            continue;
        }
        number += 1;
        let text = format!("# push {number}\n");
        let publish = Publish {
            text: Packed::new(&text.clone().into()).unwrap(),
            author: "author".into(),
            comment: "".into(),
            expect: None,
        };
        let proposed = tokio::time::timeout(PATIENCE, control.propose(What::Publish(publish))).await;
        let mut history = world.history.borrow_mut();
        match proposed {
            Ok(Ok(Outcome::Published { lineage, version, .. })) => {
                history.acked.push(Ack { at: elapsed(), lineage, version, text });
            }
            _ => history.failed += 1,
        }
    }
    tokio::time::sleep(ENDS_AT - QUIET_AT).await;
    Ok(())
}

fn anybody(world: &World) -> Option<Control> {
    let running = world.running.borrow();
    let nth = random::up_to(running.len().checked_sub(1)? as u64);
    running.values().nth(usize::try_from(nth).unwrap()).cloned()
}

/// Lets happen what was drawn.
struct Fate {
    dooms: Vec<Doom>,
    /// What ends a fault, and when.
    ends: Vec<(Duration, Fault)>,
    disks: BTreeMap<u64, Disk>,
    world: World,
}

impl Fate {
    fn strike(&mut self, sim: &mut turmoil::Sim<'_>) {
        let now = sim.elapsed();
        let is_over = |at: Duration| at <= now || now >= HEALED_AT;
        let (over, on): (Vec<_>, Vec<_>) = self.ends.drain(..).partition(|(at, _)| is_over(*at));
        self.ends = on;
        over.into_iter().for_each(|(_, fault)| self.end(fault, sim));
        while self.dooms.first().is_some_and(|doom| doom.at <= now) {
            let Doom { fault, .. } = self.dooms.remove(0);
            self.begin(fault, now, sim);
        }
    }

    fn begin(&mut self, fault: Fault, now: Duration, sim: &mut turmoil::Sim<'_>) {
        if self.ends.iter().any(|(_, other)| touches(*other) == touches(fault)) {
            return; // one trouble at a time for each node
        }
        self.note(now, format!("{fault:?}"));
        let lasts = match fault {
            Fault::Crash { node, down_for } => {
                self.disks[&node].pull_the_plug();
                self.world.running.borrow_mut().remove(&node);
                self.world.history.borrow_mut().crashes += 1;
                sim.crash(name(node));
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
        };
        self.ends.push((now + lasts, fault));
    }

    fn end(&self, fault: Fault, sim: &mut turmoil::Sim<'_>) {
        self.note(sim.elapsed(), format!("over: {fault:?}"));
        match fault {
            Fault::Crash { node, .. } => sim.bounce(name(node)),
            Fault::Deafen { from, to, .. } => sim.repair_oneway(name(from), name(to)),
            Fault::Isolate { node, .. } => others(node).for_each(|other| sim.repair(name(node), name(other))),
        }
    }

    fn note(&self, at: Duration, what: String) {
        self.world.history.borrow_mut().events.push(format!("{at:?} {what}"));
    }
}

fn touches(fault: Fault) -> u64 {
    match fault {
        Fault::Crash { node, .. } | Fault::Isolate { node, .. } => node,
        Fault::Deafen { from, .. } => from,
    }
}

fn others(node: u64) -> impl Iterator<Item = u64> {
    (1..=NODES).filter(move |other| *other != node)
}
