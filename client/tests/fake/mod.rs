//! A store made of the protocol crate and a counter a key, whose manners a test can change while it runs.

#![allow(dead_code, unreachable_pub, reason = "every test file is a crate that uses a part of it")]
#![allow(clippy::disallowed_types, clippy::unwrap_used, reason = "a test's own sockets, and it may panic")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tallyring_client::{Store, StoreConfig};
use tallyring_protocol::reply::{CheckedAll, Decision, Decisions, Grant, Released, Rules, Settled, Slots};
use tallyring_protocol::rules::RulesVersion;
use tallyring_protocol::{
    Charge, Define, GoodbyeCode, Hello, Key, LocalCounts, Node, NodeId, PlacementSeed, Reply, Request, Role, Topology,
    Welcome, frame,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The seed of every fake cluster.
pub const SEED: PlacementSeed = PlacementSeed([7; 16]);

/// How a store behaves.
#[derive(Clone, Debug)]
pub enum Manners {
    /// Counts up to each limit.
    Count,
    /// Reads and says nothing.
    Silent,
    /// Counts, and answers later.
    Late(Duration),
    /// Gives this answer to everything.
    Say(Saying),
    /// Gives this answer once, and counts from then on.
    SayOnce(Saying),
    /// Hangs up when it is asked something.
    HangUp,
    /// Welcomes nobody.
    Refuse(GoodbyeCode),
}

/// One answer for everything.
#[derive(Clone, Debug)]
pub enum Saying {
    Overloaded,
    Full,
    Unavailable,
    Invalid,
    Moving { retry_us: u64 },
    WrongOwner { epoch: u64, node: u64, address: String },
}

/// A request that a fake store has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The connection it came on, counted from 0.
    pub connection: usize,
    /// The shard that the connection was for.
    pub shard: u16,
    /// `define`, `ping`, `check` …
    pub kind: &'static str,
    /// Whose budget.
    pub key: Option<Key>,
}

/// A limit that a fake store was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    pub rule: String,
    pub rule_version: u64,
    pub shadow: bool,
    pub sync: bool,
}

#[derive(Debug)]
struct State {
    manners: Manners,
    topology: Topology,
    rules: (RulesVersion, Vec<u8>),
    heard: Vec<Heard>,
    defined: Vec<Defined>,
    reported: Vec<(String, bool, LocalCounts)>,
    used: BTreeMap<Vec<u8>, u64>,
    /// By key and id: what was charged.
    reserved: BTreeMap<(Vec<u8>, Vec<u8>), u64>,
    /// By key and holder: what is held.
    held: BTreeMap<(Vec<u8>, Vec<u8>), u64>,
    connections: usize,
    open: usize,
}

/// A fake node.
#[derive(Debug)]
pub struct FakeStore {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// Tells the connections that there are other rules.
    news: watch::Sender<RulesVersion>,
    task: JoinHandle<()>,
}

impl FakeStore {
    /// A cluster of one node with so many shards.
    pub async fn start(shards: u16) -> FakeStore {
        FakeStore::start_at("127.0.0.1:0", 1, shards).await
    }

    /// A node at this address.
    pub async fn start_at(address: &str, id: u64, shards: u16) -> FakeStore {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let node = Node { id: NodeId(id), weight: 1, shards, native: address.to_string(), zone: String::new() };
        let topology = Topology { epoch: 1, placement_seed: SEED, nodes: vec![node], gateways: 1 };
        let state = Arc::new(Mutex::new(State {
            manners: Manners::Count,
            topology,
            rules: (RulesVersion::NONE, b"{}".to_vec()),
            heard: Vec::new(),
            defined: Vec::new(),
            reported: Vec::new(),
            used: BTreeMap::new(),
            reserved: BTreeMap::new(),
            held: BTreeMap::new(),
            connections: 0,
            open: 0,
        }));
        let news = watch::Sender::new(RulesVersion::NONE);
        let task = tokio::spawn(accept(listener, Arc::clone(&state), news.clone(), id));
        FakeStore { address, state, news, task }
    }

    /// A cluster of so many nodes.
    pub async fn cluster(nodes: u64, shards: u16) -> Vec<FakeStore> {
        let mut cluster = Vec::new();
        for id in 1..=nodes {
            cluster.push(FakeStore::start_at("127.0.0.1:0", id, shards).await);
        }
        let members: Vec<Node> = cluster.iter().map(|fake| fake.topology().nodes[0].clone()).collect();
        cluster.iter().for_each(|fake| fake.tell(|topology| topology.nodes.clone_from(&members)));
        cluster
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// A client of it, with a deadline that a busy machine keeps.
    pub fn client(&self) -> Store {
        self.client_with(|_| ())
    }

    /// A client of it with other settings.
    pub fn client_with(&self, change: impl FnOnce(&mut StoreConfig)) -> Store {
        let mut config = StoreConfig {
            seeds: vec![self.address()],
            deadline: Duration::from_millis(500),
            random_seed: Some(1),
            ..StoreConfig::default()
        };
        change(&mut config);
        Store::open(config)
    }

    /// Changes how it behaves from the next request on.
    pub fn be(&self, manners: Manners) {
        self.state.lock().manners = manners;
    }

    /// Has other rules, and says so on every connection.
    pub fn publish(&self, version: RulesVersion, json: &str) {
        self.state.lock().rules = (version, json.as_bytes().to_vec());
        self.news.send_replace(version);
    }

    /// What limits it was told, in order.
    pub fn defined(&self) -> Vec<Defined> {
        self.state.lock().defined.clone()
    }

    /// What gateways have reported of a rule, summed; enforced or not.
    pub fn reported(&self, rule: &str, shadow: bool) -> LocalCounts {
        let mut sum = LocalCounts::default();
        let state = self.state.lock();
        let reports = state.reported.iter().filter(|(of, in_shadow, _)| of == rule && *in_shadow == shadow);
        reports.for_each(|(_, _, counts)| sum.add(counts));
        sum
    }

    /// Changes the topology that the next connection is told.
    pub fn tell(&self, change: impl FnOnce(&mut Topology)) {
        change(&mut self.state.lock().topology);
    }

    /// What it tells about itself.
    pub fn topology(&self) -> Topology {
        self.state.lock().topology.clone()
    }

    /// What it was asked so far, pings left out.
    pub fn heard(&self) -> Vec<Heard> {
        self.state.lock().heard.iter().filter(|heard| heard.kind != "ping").cloned().collect()
    }

    /// How often it was asked `kind`.
    pub fn times(&self, kind: &str) -> usize {
        self.state.lock().heard.iter().filter(|heard| heard.kind == kind).count()
    }

    /// What is charged to a key.
    pub fn used(&self, key: &Key) -> u64 {
        self.state.lock().used.get(key.as_ref().block()).copied().unwrap_or(0)
    }

    /// What is held by all holders.
    pub fn held(&self) -> u64 {
        self.state.lock().held.values().sum()
    }

    /// Connections that it has welcomed.
    pub fn welcomed(&self) -> usize {
        self.state.lock().connections
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.state.lock().open
    }

    /// Ends it with all of its connections, as a crash does.
    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>, news: watch::Sender<RulesVersion>, id: u64) {
    let mut connections = tokio::task::JoinSet::new(); // dropped with this task, and the connections with it
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(serve(stream, Arc::clone(&state), news.subscribe(), id));
    }
}

struct Open(Arc<Mutex<State>>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.lock().open -= 1;
    }
}

async fn serve(
    mut stream: TcpStream,
    state: Arc<Mutex<State>>,
    mut news: watch::Receiver<RulesVersion>,
    id: u64,
) -> Option<()> {
    stream.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    let (shard, taken) = loop {
        stream.read_buf(&mut bytes).await.ok().filter(|len| *len > 0)?;
        if let Some((frame, taken)) = frame::split(&bytes, 1024).unwrap() {
            break (Hello::decode(&frame).unwrap().shard, taken);
        }
    };
    bytes.drain(..taken);
    let (greeting, welcomed) = state.lock().greet(id, shard);
    stream.write_all(&greeting).await.ok()?;
    let connection = welcomed?;
    let _open = Open(Arc::clone(&state));
    let mut limits = BTreeMap::new();
    loop {
        let mut out = Vec::new();
        let mut late = Duration::ZERO;
        while let Some((frame, taken)) = frame::split(&bytes, 64 * 1024).unwrap() {
            let request = Request::decode(&frame).unwrap();
            let mut state = state.lock();
            state.hear(connection, shard, &request);
            match state.manners.clone() {
                Manners::Silent => {}
                Manners::HangUp if !matches!(request, Request::Define(_)) => return None,
                Manners::Say(saying) if !matches!(request, Request::Define(_)) => {
                    saying.reply().encode(frame.id, &mut out);
                }
                Manners::SayOnce(saying) if !matches!(request, Request::Define(_)) => {
                    saying.reply().encode(frame.id, &mut out);
                    state.manners = Manners::Count;
                }
                Manners::Late(wait) => {
                    late = wait;
                    state.decide(&request, &mut limits).encode(frame.id, &mut out);
                }
                _ => state.decide(&request, &mut limits).encode(frame.id, &mut out),
            }
            drop(state);
            bytes.drain(..taken);
        }
        tokio::time::sleep(late).await;
        stream.write_all(&out).await.ok()?;
        tokio::select! {
            biased;
            _ = news.changed() => {
                let mut push = Vec::new();
                Reply::RulesVersion(*news.borrow_and_update()).encode(0, &mut push);
                stream.write_all(&push).await.ok()?;
            }
            read = stream.read_buf(&mut bytes) => {
                read.ok().filter(|len| *len > 0)?;
            }
        }
    }
}

impl Saying {
    fn reply(&self) -> Reply<'_> {
        match self {
            Saying::Overloaded => Reply::Overloaded,
            Saying::Full => Reply::Full,
            Saying::Unavailable => Reply::Unavailable,
            Saying::Invalid => Reply::Invalid { field: Cow::Borrowed("limit"), reason: Cow::Borrowed("none of ours") },
            Saying::Moving { retry_us } => Reply::Moving { retry_us: *retry_us },
            Saying::WrongOwner { epoch, node, address } => {
                Reply::WrongOwner { epoch: *epoch, node: NodeId(*node), address: Cow::Borrowed(address) }
            }
        }
    }
}

impl State {
    /// What a newcomer is told, and which connection it is if it is welcome.
    fn greet(&mut self, id: u64, shard: u16) -> (Vec<u8>, Option<usize>) {
        let mut out = Vec::new();
        if let Manners::Refuse(code) = self.manners {
            Reply::Goodbye { code, reason: Cow::Borrowed("no") }.encode(0, &mut out);
            return (out, None);
        }
        self.connections += 1;
        self.open += 1;
        let shards = self.topology.nodes.first().map_or(1, |node| node.shards);
        Reply::Welcome(Welcome { version: 1, node: NodeId(id), shard, shards, role: Role::Admin }).encode(0, &mut out);
        Reply::Topology(Cow::Owned(self.topology.to_json())).encode(0, &mut out);
        Reply::RulesVersion(self.rules.0).encode(0, &mut out);
        (out, Some(self.connections - 1))
    }

    fn hear(&mut self, connection: usize, shard: u16, request: &Request<'_>) {
        let (kind, key) = match request {
            Request::Define(_) => ("define", None),
            Request::Ping => ("ping", None),
            Request::GetRules => ("get_rules", None),
            Request::Report(_) => ("report", None),
            Request::Check(charge) => ("check", Some(charge.key)),
            Request::Take(charge) => ("take", Some(charge.key)),
            Request::Refund(refund) => ("refund", Some(refund.key)),
            Request::Reset(key) => ("reset", Some(*key)),
            Request::CheckAll(parts) => ("check_all", parts.iter().next().map(|part| part.key)),
            Request::Reserve(reserve) => ("reserve", Some(reserve.charge.key)),
            Request::Settle(settle) => ("settle", Some(settle.key)),
            Request::Acquire(acquire) => ("acquire", Some(acquire.key)),
            Request::Release(release) => ("release", Some(release.key)),
        };
        self.heard.push(Heard { connection, shard, kind, key: key.map(|key| key.to_key()) });
    }

    /// Charges what fits.
    fn charge(&mut self, charge: &Charge<'_>, limit: u64) -> Decision {
        let used = self.used.entry(charge.key.block().to_vec()).or_default();
        let allowed = charge.force || *used + charge.cost + charge.keep <= limit;
        let charged = if allowed { charge.cost.min(limit - *used) } else { 0 };
        *used += charged;
        let never = !allowed && charge.cost + charge.keep > limit;
        let decision = decided(allowed, limit - *used);
        let retry_after_us = if never { u64::MAX } else { decision.retry_after_us };
        Decision { charged: charge.force.then_some(charged), retry_after_us, ..decision }
    }

    fn check_all(&mut self, parts: &[Charge<'_>], limits: &BTreeMap<u16, u64>) -> Reply<'static> {
        let before = self.used.clone();
        let decisions: Vec<Decision> = parts.iter().map(|part| self.charge(part, limits[&part.handle])).collect();
        let allowed = decisions.iter().all(|decision| decision.allowed);
        if !allowed {
            self.used = before;
        }
        let retry_after_us = if allowed { 0 } else { 1_500_000 };
        let (at_us, checks) = (AT_US, Decisions::new(decisions));
        Reply::CheckedAll(CheckedAll { allowed, retry_after_us, at_us, checks })
    }

    /// Reserve, settle, acquire and release, without times to live.
    fn decide_holding(&mut self, request: &Request<'_>, limits: &BTreeMap<u16, u64>) -> Reply<'static> {
        let of = |key: tallyring_protocol::KeyRef<'_>, name: &[u8]| (key.block().to_vec(), name.to_vec());
        match *request {
            Request::Reserve(reserve) => {
                let name = of(reserve.charge.key, reserve.id);
                if self.reserved.contains_key(&name) {
                    return Reply::Decision(decided(true, 0));
                }
                let decision = self.charge(&reserve.charge, limits[&reserve.charge.handle]);
                if decision.allowed {
                    self.reserved.insert(name, reserve.charge.cost);
                }
                Reply::Decision(decision)
            }
            Request::Settle(settle) => {
                Reply::Settled(self.reserved.remove(&of(settle.key, settle.id)).map(|charged| {
                    let used = self.used.entry(settle.key.block().to_vec()).or_default();
                    *used = *used + settle.actual - charged;
                    Settled { remaining: 0, reset_after_us: 0 }
                }))
            }
            Request::Acquire(acquire) => {
                let others = self.held.iter().filter(|(name, _)| **name != of(acquire.key, acquire.holder));
                let in_use = others.map(|(_, cost)| cost).sum::<u64>();
                let allowed = in_use + acquire.cost <= acquire.limit;
                if allowed {
                    self.held.insert(of(acquire.key, acquire.holder), acquire.cost);
                }
                let in_use = self.held.values().sum();
                Reply::Slots(Slots { allowed, in_use, retry_after_us: if allowed { 0 } else { 9 }, at_us: AT_US })
            }
            Request::Release(release) => {
                let released = self.held.remove(&of(release.key, release.holder)).is_some();
                Reply::Released(Released { released, in_use: self.held.values().sum() })
            }
            _ => unreachable!("decide has arms for the others"),
        }
    }

    fn decide(&mut self, request: &Request<'_>, limits: &mut BTreeMap<u16, u64>) -> Reply<'static> {
        match *request {
            Request::Define(define) => {
                limits.insert(define.handle, if define.burst > 0 { define.burst } else { define.limit });
                let Define { rule, rule_version, shadow, sync, .. } = define;
                self.defined.push(Defined { rule: rule.to_owned(), rule_version, shadow, sync });
                Reply::Defined
            }
            Request::Ping => Reply::Pong,
            Request::GetRules => {
                let (version, json) = self.rules.clone();
                Reply::Rules(Rules { version, json: Cow::Owned(json) })
            }
            Request::Report(report) => {
                self.reported.push((report.rule.to_owned(), report.shadow, report.counts));
                Reply::Reported
            }
            Request::Check(charge) => {
                let Some(limit) = limits.get(&charge.handle) else {
                    return Reply::Invalid { field: Cow::Borrowed("handle"), reason: Cow::Borrowed("not defined") };
                };
                Reply::Decision(self.charge(&charge, *limit))
            }
            Request::Take(charge) => {
                let used = self.used.entry(charge.key.block().to_vec()).or_default();
                let granted = charge.cost.min(limits[&charge.handle] - *used);
                *used += granted;
                Reply::Grant(Grant { granted, remaining: limits[&charge.handle] - *used, reset_after_us: 0, at_us: 0 })
            }
            Request::Refund(refund) => {
                let used = self.used.entry(refund.key.block().to_vec()).or_default();
                *used -= refund.cost.min(*used);
                Reply::Decision(decided(true, limits[&refund.handle] - *used))
            }
            Request::Reset(key) => Reply::ResetDone { found: self.used.remove(key.block()).is_some() },
            Request::CheckAll(parts) => self.check_all(&parts.iter().collect::<Vec<_>>(), limits),
            Request::Reserve(_) | Request::Settle(_) | Request::Acquire(_) | Request::Release(_) => {
                self.decide_holding(request, limits)
            }
        }
    }
}

/// The instant of everything.
const AT_US: u64 = 1_600_000_000_000_000;

fn decided(allowed: bool, remaining: u64) -> Decision {
    let retry_after_us = if allowed { 0 } else { 1_500_000 };
    let (reset_after_us, at_us) = (2_000_000, AT_US);
    Decision { allowed, remaining, retry_after_us, reset_after_us, at_us, charged: None, delay_us: None }
}
