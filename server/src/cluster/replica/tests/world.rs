//! One owner node with shards, two replica nodes with other shards, and what happens between them.

use proptest::prelude::*;
use tallyring_engine::*;
use tallyring_protocol::NodeId;

use super::Bug;
use super::call::{Call, KEYS, arc, call};
use super::link::Link;
use crate::cluster::replica::Source;

const NODES: usize = 2;

/// A trace: how many shards there are on each side, what happens, and what is asked of the replica in the end.
#[derive(Clone, Debug)]
pub(super) struct Run {
    owner_shards: usize,
    replica_shards: usize,
    steps: Vec<Step>,
    afterwards: Vec<Call>,
}

#[derive(Clone, Debug)]
enum Step {
    Call(Call),
    Flush { shard: usize },
    Deliver { link: usize, flushes: usize },
    Lose { link: usize },
    Acknowledge { link: usize },
    Break { link: usize },
    Connect { link: usize },
    Sweep { link: usize },
}

pub(super) fn any_run() -> impl Strategy<Value = Run> {
    (1..4_usize, 1..4_usize, prop::collection::vec(step(), 1..250), prop::collection::vec(call(), 0..20)).prop_map(
        |(owner_shards, replica_shards, steps, afterwards)| Run { owner_shards, replica_shards, steps, afterwards },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let link = || 0..6_usize;
    prop_oneof![
        12 => call().prop_map(Step::Call),
        6 => (0..3_usize).prop_map(|shard| Step::Flush { shard }),
        8 => (link(), 1..9_usize).prop_map(|(link, flushes)| Step::Deliver { link, flushes }),
        1 => link().prop_map(|link| Step::Lose { link }),
        4 => link().prop_map(|link| Step::Acknowledge { link }),
        1 => link().prop_map(|link| Step::Break { link }),
        6 => link().prop_map(|link| Step::Connect { link }),
        4 => link().prop_map(|link| Step::Sweep { link }),
    ]
}

/// The shard of a placement, of one node. As even as the ring's own way for the few places that are used here.
pub(super) fn shard_of(placement: u64, shards: usize) -> usize {
    key_of(placement) % shards
}

fn key_of(placement: u64) -> usize {
    (0..KEYS).position(|key| arc(key).1 == placement).expect("it is a key's place")
}

/// Everything that an engine holds of `within`.
pub(super) fn export_all(engine: &mut Engine, now: Timestamp, within: &Placements) -> Vec<Batch> {
    let (mut batches, mut from) = (Vec::new(), Some(Cursor::START));
    while let Some(cursor) = from {
        let (batch, next) = engine.export(now, within, cursor, BATCH_RECORDS_MAX);
        batches.push(batch);
        from = next;
    }
    batches
}

/// Lets a trace happen, with a bug or without.
pub(super) fn run(run: &Run, bug: Option<Bug>) -> Result<(), String> {
    let mut world = World::new(run, bug);
    for step in &run.steps {
        world.step(step)?;
    }
    world.fail_over(&run.afterwards)
}

/// One shard of the owner, and its way to each replica node.
struct Owner {
    engine: Engine,
    source: Source,
    links: Vec<Link>,
}

struct World {
    now: Timestamp,
    owners: Vec<Owner>,
    /// By node and shard.
    replicas: Vec<Vec<Engine>>,
}

impl World {
    fn new(run: &Run, bug: Option<Bug>) -> World {
        let owners = (0..run.owner_shards).map(|shard| Owner::new(shard, run, bug)).collect();
        let engine = || Engine::new(Bounds::of_bytes(64 << 20));
        let node = |_| std::iter::repeat_with(engine).take(run.replica_shards).collect();
        World { now: Timestamp::from_micros(1_700_000_000_000_000), owners, replicas: (0..NODES).map(node).collect() }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let (now, shards) = (self.now, self.owners.len());
        match *step {
            Step::Call(ref call) => self.call(call),
            Step::Flush { shard } => self.owners[shard % shards].flush(now),
            Step::Deliver { link, .. }
            | Step::Lose { link }
            | Step::Acknowledge { link }
            | Step::Break { link }
            | Step::Connect { link }
            | Step::Sweep { link } => {
                let (shard, node) = (link % shards, link / 3 % NODES);
                let Owner { source, links, .. } = &mut self.owners[shard];
                let (link, engines) = (&mut links[node], &mut self.replicas[node]);
                match *step {
                    Step::Deliver { flushes, .. } => link.deliver(source, engines, now, flushes),
                    Step::Lose { .. } => link.lose_one(source),
                    Step::Acknowledge { .. } => link.acknowledge(source),
                    Step::Break { .. } => link.break_off(source),
                    Step::Connect { .. } => link.connect(source),
                    _ => link.sweep(engines),
                }
                self.compare(shard, node)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) {
        if let Call::Pass { us } = call {
            self.now = Timestamp::from_micros(self.now.as_micros() + us);
        }
        if let Some(key) = call.key() {
            let shard = key as usize % self.owners.len();
            call.answer(&mut self.owners[shard].engine, self.now);
        }
    }

    /// Whether a replica that is whole holds what its owner's shard held at the flush at which it stands.
    fn compare(&mut self, shard: usize, node: usize) -> Result<(), String> {
        let link = &self.owners[shard].links[node];
        let Some(held) = link.owners_state() else { return Ok(()) };
        let mut twin = twin_of(held, self.now);
        let expect = tell(&export_all(&mut twin, self.now, link.within()));
        let engines = self.replicas[node].iter_mut();
        let found: Vec<Batch> = engines.flat_map(|engine| export_all(engine, self.now, link.within())).collect();
        let found = tell(&found);
        if found == expect {
            Ok(())
        } else {
            Err(format!("shard {shard}, node {node}: {found:#?}, expected {expect:#?}"))
        }
    }

    /// All owners die. Every key of a whole replica is decided there as its owner would have at the last flush.
    fn fail_over(&mut self, afterwards: &[Call]) -> Result<(), String> {
        let now = self.now;
        let mut twins: Vec<Vec<Option<Engine>>> = Vec::new();
        for Owner { source, links, .. } in &mut self.owners {
            let twin = |link: &Link| link.owners_state().map(|held| twin_of(held, now));
            twins.push(links.iter().map(twin).collect());
            for (link, engines) in links.iter_mut().zip(&mut self.replicas) {
                link.fail_over(source, engines, now);
            }
        }
        for call in afterwards {
            let Some(key) = call.key() else { continue };
            let (shard, node) = (key as usize % self.owners.len(), node_of(key));
            let Some(twin) = &mut twins[shard][node] else { continue };
            let engines = &mut self.replicas[node];
            let serving = key as usize % engines.len();
            let (found, expect) = (call.answer(&mut engines[serving], now), call.answer(twin, now));
            if found != expect {
                return Err(format!("{call:?}: {found}, expected {expect}"));
            }
        }
        Ok(())
    }
}

impl Owner {
    fn new(shard: usize, run: &Run, bug: Option<Bug>) -> Owner {
        let mut engine = Engine::new(Bounds::of_bytes(64 << 20));
        engine.begin_epoch(1);
        let mut source = Source::default();
        let link = |node: usize| {
            let mine = (0..KEYS).filter(|&key| node_of(key) == node && key as usize % run.owner_shards == shard);
            let within = Placements::of_arcs(mine.map(arc));
            let id = NodeId(node as u64);
            source.assign(id, within.clone()).expect("there are two");
            Link::new(id, within, run.replica_shards, bug)
        };
        let links = (0..NODES).map(link).collect();
        Owner { engine, source, links }
    }

    fn flush(&mut self, now: Timestamp) {
        self.source.flush(&mut self.engine, now);
        for link in &mut self.links {
            link.record(&mut self.source, &mut self.engine, now);
        }
    }
}

fn node_of(key: u64) -> usize {
    key as usize / 2 % NODES
}

/// An engine that holds what was told.
fn twin_of(held: &[Batch], now: Timestamp) -> Engine {
    let mut twin = Engine::new(Bounds::of_bytes(64 << 20));
    for batch in held {
        twin.import(now, &mut Intake::in_order(), batch).expect("it was read from an engine");
    }
    twin
}

/// What batches say, whatever order and places they say it in.
fn tell(batches: &[Batch]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for Batch { limits, records, .. } in batches {
        told.extend(records.iter().map(|record| match record {
            Record::Counter { identity, counter: Some(counter) } => {
                format!("{identity:?}: {:?} under {:?}", counter.state, limits[counter.limit as usize])
            }
            Record::Reservation { name, reservation: Some(known) } => {
                let known = (known.counter, known.charged, known.charged_at, known.decision, known.until_us);
                format!("{name:?}: {known:?}")
            }
            gone => format!("{gone:?}"),
        }));
    }
    told.sort();
    told
}
