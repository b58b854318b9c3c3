//! A shard: one thread that owns one slice of the keys and shares it with nobody.
//!
//! It repeats a *turn* for each connection with something to say: read what the socket holds, read the clock once,
//! decide every command in arrival order, write the replies in one system call. One clock reading per turn makes a batch
//! agree with itself. Between turns it decides what other threads left in its mailbox and forgets idle keys.
//!
//! Invariants:
//! - Only this thread touches the engine, so neither shard nor engine holds a lock. Tasks of the thread borrow the shard
//!   for one turn and never across an `await`.
//! - A turn is bounded by [`turn::COMMANDS_PER_TURN_MAX`], the mailbox's share by [`MAIL_PER_TURN_MAX`], the sweep's by
//!   [`EXPIRIES_PER_TURN_MAX`].
//!
//! Not here: how nodes come to agree on who owns a key (`cluster`), arithmetic (`tallyring_engine`), bytes of foreign protocols (`door`).

pub mod abroad;
mod apply;
pub mod command;
mod guests;
mod joint;
pub mod mailbox;
pub mod native;
mod numbers;
pub mod outlet;
mod peek;
mod refusal;
mod reserve;
mod residents;
pub mod resp;
pub mod rules;
mod session;
mod slots;
mod socket;
mod spares;
mod stage;
pub mod territory;
mod turn;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tallyring_engine::{Bounds, Engine, Identity, Timestamp};
use tallyring_protocol::{AlgorithmCode, GoodbyeCode, IdentityHasher, KeyRef, NodeId, PlacementSeed};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::abroad::Abroad;
use self::command::{Envelope, Holder, KeyQuota};
use self::guests::Guests;
use self::mailbox::Mailbox;
use self::native::Arrival;
use self::numbers::Numbers;
use self::outlet::{Answered, Outgoing, Outlet};
use self::residents::Residents;
use self::resp::RespArrival;
use self::rules::RulesFrames;
use self::session::Session;
use self::spares::Spares;
use self::stage::Stage;
use self::territory::Territory;
use crate::observe::door::{Door, DoorTallies};
use crate::observe::histogram::Histogram;
use crate::observe::local::{LocalReport, Locals};
use crate::sys::clock::Clock;
use crate::tokens::{LiveTokens, Pass};

/// Messages that a shard's mailbox holds; one more is refused.
pub const MAILBOX_MAX: usize = 16 * 1_024;

/// Messages taken from the mailbox before the connections have their turn.
const MAIL_PER_TURN_MAX: usize = 256;

/// Idle keys looked at before the connections have their turn: some fifty microseconds' work.
const EXPIRIES_PER_TURN_MAX: usize = 512;

/// How finely a shard knows when a connection last asked for something. Counted in ticks, not read off the node's clock:
/// that one may jump, and a turn has no second clock to read.
const TICK: Duration = Duration::from_millis(500);

/// How long the sweep rests when it has caught up.
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);

/// What other threads ask of a shard.
#[derive(Debug)]
pub enum Message {
    /// Decide this and answer its connection.
    Command(Envelope),
    /// Serve this connection from now on.
    Adopt(Arrival),
    /// Serve this connection, which speaks RESP, from now on.
    AdoptResp(RespArrival),
    /// Decide by this topology from now on, and tell every connection.
    Territory(Arc<Territory>),
    /// Tell every connection which rules are live, and hand them out from now on.
    Rules(Arc<RulesFrames>),
    /// Other tokens are valid: look who may stay.
    Tokens,
    /// Say how you are.
    Report(oneshot::Sender<Report>),
}

/// A mailbox of shards.
pub type ShardMailbox = Mailbox<Message>;

/// What tells keys apart and places them; the same in every shard of the cluster.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// Places keys on the ring.
    pub placement: PlacementSeed,
    /// Tells apart the keys of one place.
    pub identity: IdentityHasher,
}

impl Seeds {
    /// The counter of a key under an algorithm.
    pub fn identify(&self, key: KeyRef<'_>, algorithm: AlgorithmCode) -> Identity {
        Identity { placement: self.placement.place(key).0, identity: self.identity.identity(key, algorithm) }
    }

    /// The reservation of a key with this id, under the key's place.
    pub fn reservation(&self, key: KeyRef<'_>, id: &[u8]) -> Identity {
        Identity { placement: self.placement.place(key).0, identity: self.identity.reservation(key, id) }
    }

    /// The holder of a key's slots with this name.
    pub fn holder(&self, key: KeyRef<'_>, name: &[u8]) -> Holder {
        Holder { slots: self.identify(key, AlgorithmCode::Concurrency), name: self.identity.holder(key, name) }
    }
}

/// How a shard is, for metrics.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Entries held.
    pub keys: usize,
    /// Bytes held.
    pub bytes: usize,
    /// Bytes that may be held.
    pub bytes_max: usize,
    /// Connections served now.
    pub connections: usize,
    /// Messages waiting in the mailbox.
    pub mail: usize,
    /// Limits held, over all connections.
    pub limits: usize,
    /// How far the sweep is behind the oldest key that is whole again, in microseconds.
    pub expiry_lag_us: u64,
    /// How long turns took that decided something.
    pub turns: Histogram,
    /// How long requests took, by door, from the reading of their turn until all of it was decided.
    pub requests: [Histogram; Door::ALL.len()],
    /// Counts since the start.
    pub tally: Tally,
    /// Decisions by rule.
    pub rules: Vec<RuleReport>,
    /// What gateways reported to have decided by themselves, by rule.
    pub locals: Vec<LocalReport>,
}

/// What a shard counts besides decisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Request frames read.
    pub frames: u64,
    /// Requests sent on to the shard that owns their key.
    pub forwarded: u64,
    /// Requests refused because that shard's mailbox was full.
    pub overloaded: u64,
    /// Keys forgotten because they were whole again.
    pub expired: u64,
}

/// The decisions of one rule.
#[derive(Clone, Debug, Default)]
pub struct RuleReport {
    /// The rule's id; empty = none.
    pub rule: String,
    /// Whether it was not enforced.
    pub shadow: bool,
    /// Calls allowed.
    pub allowed: u64,
    /// Calls denied.
    pub denied: u64,
    /// Calls that memory had no room for.
    pub full: u64,
}

/// What a shard needs to start.
#[derive(Debug)]
pub struct ShardSetup {
    /// Its number inside the node.
    pub index: u16,
    /// Its node.
    pub node: NodeId,
    /// Every shard's mailbox, its own among them.
    pub mailboxes: Arc<[ShardMailbox]>,
    /// Where it leaves what other nodes are to decide.
    pub abroad: Arc<Abroad>,
    /// What places keys.
    pub seeds: Seeds,
    /// How much it may hold.
    pub bounds: Bounds,
    /// The topology when it starts.
    pub territory: Arc<Territory>,
    /// The rules that are live when it starts.
    pub rules: Arc<RulesFrames>,
    /// The node's clock.
    pub clock: Clock,
    /// Where it says that it is alive, in microseconds of the clock.
    pub pulse: Arc<AtomicU64>,
    /// Who may stay.
    pub tokens: Arc<LiveTokens>,
    /// How long a connection may ask for nothing.
    pub idle_timeout: Duration,
    /// Where it counts connections that it has to end.
    pub doors: Arc<DoorTallies>,
    /// Connections of all the node's shards together.
    pub node_connections: Arc<AtomicUsize>,
    /// Cancelled when the node drains.
    pub draining: CancellationToken,
}

/// The state of one shard's thread.
#[derive(Debug)]
pub struct Shard {
    index: u16,
    node: NodeId,
    mailboxes: Arc<[ShardMailbox]>,
    abroad: Arc<Abroad>,
    seeds: Seeds,
    clock: Clock,
    engine: Engine,
    territory: Arc<Territory>,
    quota: KeyQuota,
    stage: Stage<u32>,
    resp: resp::Scratch,
    numbers: Numbers,
    joint: joint::Scratch,
    guests: Guests,
    residents: Residents,
    spares: Rc<Spares>,
    tokens: Arc<LiveTokens>,
    doors: Arc<DoorTallies>,
    bytes_max: usize,
    idle_ticks_max: u64,
    tick: u64,
    rules: Arc<RulesFrames>,
    locals: Locals,
    node_connections: Arc<AtomicUsize>,
    draining: CancellationToken,
    tally: Tally,
    turns: Histogram,
    requests: [Histogram; Door::ALL.len()],
}

/// Runs a shard until the node drains and its last connection is gone.
pub async fn run(setup: ShardSetup) {
    let ShardSetup { index, node, mailboxes, abroad, seeds, bounds, territory, rules, clock, pulse, .. } = setup;
    let ShardSetup { tokens, idle_timeout, doors, node_connections, draining, .. } = setup;
    let shards = u16::try_from(mailboxes.len()).expect("a node has at most SHARDS_MAX shards");
    let shard = Rc::new(RefCell::new(Shard {
        index,
        node,
        mailboxes: Arc::clone(&mailboxes),
        abroad,
        seeds,
        clock,
        engine: Engine::new(bounds),
        territory,
        quota: KeyQuota { shards, any_rule_max: bounds.rule_keys_max as u64 },
        stage: Stage::new(),
        resp: resp::Scratch::new(),
        numbers: Numbers::new(),
        joint: joint::Scratch::default(),
        guests: Guests::default(),
        residents: Residents::default(),
        spares: Rc::default(),
        tokens,
        doors,
        bytes_max: bounds.bytes_max,
        idle_ticks_max: u64::try_from(idle_timeout.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX),
        tick: 0,
        rules,
        locals: Locals::default(),
        node_connections,
        draining: draining.clone(),
        tally: Tally::default(),
        turns: Histogram::default(),
        requests: Default::default(),
    }));
    let sweep = tokio::task::spawn_local(sweep(Rc::clone(&shard), pulse));
    let ticking = tokio::task::spawn_local(tick(Rc::clone(&shard)));
    let mailbox = &mailboxes[usize::from(index)];
    loop {
        tokio::select! {
            biased;
            () = mailbox.arrival() => {}
            () = draining.cancelled() => break,
        }
        while take_mail(&shard, mailbox) {
            tokio::task::yield_now().await;
        }
    }
    drain(&shard, mailbox).await;
    sweep.abort();
    ticking.abort();
}

/// Handles a bounded share of the mailbox; true if there is more.
fn take_mail(shard: &Rc<RefCell<Shard>>, mailbox: &ShardMailbox) -> bool {
    // Counted before the clock is read: nobody's request is decided at an instant before it was sent.
    let waiting = mailbox.len().min(MAIL_PER_TURN_MAX);
    let now = shard.borrow_mut().now();
    let mut answered = Answered::default();
    for _ in 0..waiting {
        let Some(message) = mailbox.pop() else { break };
        match message {
            Message::Command(envelope) => answered.add(shard.borrow_mut().decide_envelope(envelope, now)),
            Message::Adopt(arrival) => {
                tokio::task::spawn_local(native::serve(Rc::clone(shard), arrival));
            }
            Message::AdoptResp(arrival) => {
                tokio::task::spawn_local(resp::serve(Rc::clone(shard), arrival));
            }
            Message::Territory(territory) => shard.borrow_mut().take_territory(territory),
            Message::Rules(frames) => shard.borrow_mut().take_rules(frames),
            Message::Tokens => shard.borrow_mut().expel(),
            // Whoever asked may have stopped waiting.
            Message::Report(to) => drop(to.send(shard.borrow().report())),
        }
    }
    drop(answered);
    !mailbox.is_empty()
}

/// Says goodbye to every connection and answers what they still ask, until the node's last one is gone: those of the
/// other shards may still need this shard's keys.
async fn drain(shard: &Rc<RefCell<Shard>>, mailbox: &ShardMailbox) {
    shard.borrow().residents.tell_everybody(|| Outgoing::Goodbye(GoodbyeCode::Draining, DRAINING));
    let patience = tokio::time::Instant::now() + DRAIN_PATIENCE;
    let busy = || shard.borrow().node_connections.load(Ordering::Acquire) > 0 || !mailbox.is_empty();
    while busy() && tokio::time::Instant::now() < patience {
        take_mail(shard, mailbox);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// How long a draining shard waits for the node's connections: longer than one may go on answering, shorter than the
/// patience of whoever sent the signal.
const DRAIN_PATIENCE: Duration = Duration::from_secs(2);

/// Why a draining node ends its connections.
const DRAINING: &str = "the node is shutting down";

/// Forgets keys that are whole again, a bounded share at a time, and says that the thread is alive.
async fn sweep(shard: Rc<RefCell<Shard>>, pulse: Arc<AtomicU64>) {
    loop {
        let expired = shard.borrow_mut().expire(&pulse);
        if expired < EXPIRIES_PER_TURN_MAX {
            tokio::time::sleep(SWEEP_INTERVAL).await;
        } else {
            tokio::task::yield_now().await;
        }
    }
}

/// Counts the ticks.
async fn tick(shard: Rc<RefCell<Shard>>) {
    loop {
        tokio::time::sleep(TICK).await;
        shard.borrow_mut().tick();
    }
}

impl Shard {
    fn now(&mut self) -> Timestamp {
        self.engine.advance(Timestamp::from_micros(self.clock.now_us()))
    }

    fn shards(&self) -> u16 {
        self.quota.shards
    }

    /// Where its connections find buffers.
    fn spares(&self) -> Rc<Spares> {
        Rc::clone(&self.spares)
    }

    /// Registers a connection. Whoever was let in by tokens that were exchanged meanwhile goes at once.
    fn enter(&mut self, door: Door, outlet: &Arc<Outlet>, pass: Option<Pass>) -> u64 {
        self.node_connections.fetch_add(1, Ordering::AcqRel);
        outlet.hear(self.tick);
        if self.draining.is_cancelled() {
            outlet.push(Outgoing::Goodbye(GoodbyeCode::Draining, DRAINING));
        }
        let ticket = self.residents.enter(door, outlet, pass);
        if pass.is_some_and(|pass| !self.tokens.allows(&pass)) {
            self.expel();
        }
        ticket
    }

    /// Forgets a connection.
    fn leave(&mut self, ticket: u64) {
        self.residents.leave(ticket);
        self.node_connections.fetch_sub(1, Ordering::AcqRel);
    }

    /// Forgets the limits that a connection defined.
    fn undefine(&mut self, session: &mut Session) {
        for handle in session.take_handles() {
            self.engine.release(handle.id);
        }
    }

    /// Ends the connections whose tokens are not valid any more.
    fn expel(&mut self) {
        self.residents.expel(&self.tokens, &self.doors);
    }

    /// Some time has passed: ends the connections that have asked for nothing for too long.
    fn tick(&mut self) {
        self.tick += 1;
        if let Some(since) = self.tick.checked_sub(self.idle_ticks_max) {
            self.residents.dismiss_idle(since, &self.doors);
        }
    }

    /// From now on this topology says whose is a key; everybody is told, behind what was decided under the last one.
    fn take_territory(&mut self, territory: Arc<Territory>) {
        self.territory = territory;
        self.residents.tell_everybody(|| Outgoing::Push(self.territory.frame()));
    }

    /// From now on these rules are handed out; everybody is told.
    fn take_rules(&mut self, frames: Arc<RulesFrames>) {
        self.rules = frames;
        self.residents.tell_everybody(|| Outgoing::Push(self.rules.announcement()));
    }

    fn expire(&mut self, pulse: &AtomicU64) -> usize {
        let now = self.now();
        pulse.store(self.clock.now_us(), Ordering::Relaxed);
        let expired = self.engine.expire(now, EXPIRIES_PER_TURN_MAX);
        self.tally.expired += expired as u64;
        expired
    }

    fn report(&self) -> Report {
        let decided = self.engine.rule_counts().filter(|counts| counts.allowed + counts.denied + counts.full > 0);
        let rules = decided.map(|counts| RuleReport {
            rule: counts.rule.to_owned(),
            shadow: counts.shadow,
            allowed: counts.allowed,
            denied: counts.denied,
            full: counts.full,
        });
        Report {
            keys: self.engine.keys(),
            bytes: self.engine.bytes(),
            bytes_max: self.bytes_max,
            connections: self.residents.len(),
            mail: self.mailboxes[usize::from(self.index)].len(),
            limits: self.engine.limits(),
            expiry_lag_us: self.engine.expiry_lag_us(),
            turns: self.turns,
            requests: self.requests,
            tally: self.tally,
            rules: rules.collect(),
            locals: self.locals.reports(),
        }
    }
}
