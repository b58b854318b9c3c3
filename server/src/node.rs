//! A node: the only module that knows every part. It starts the threads, joins them, and drains them in between.

mod errands;
mod first_rules;
mod membership;
mod news;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

use tallyring_engine::Bounds;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::info;

use self::errands::Errands;
pub use self::first_rules::Faulty;
use self::first_rules::{First, FirstRules};
use self::membership::{Listening, Membership};
use self::news::News;
use crate::acceptor::Acceptor;
use crate::acceptor::resp::RespAcceptor;
use crate::cluster::control::{Control, ControlError};
use crate::cluster::gateways::Gateways;
use crate::cluster::time::Timekeeper;
use crate::cluster::view::View;
use crate::config::{Config, ConfigError};
use crate::data::{Data, DataError};
use crate::door::http::{self, HttpDoor};
use crate::door::judge::Judge;
use crate::door::shards::{Mailboxes, Shards};
use crate::entrance::tls::{Certificates, TlsError};
use crate::entrance::{Entrance, EntranceSetup, WhenFull};
use crate::observe::clock::ClockGauge;
use crate::observe::door::{Door, DoorTallies};
use crate::observe::errand::ErrandTally;
use crate::observe::reload::ReloadTally;
use crate::reload::Reload;
use crate::rules::publish::PublishError;
use crate::rules::shelf::{ImportError, ShelfError};
use crate::rules::{NotUnderstood, Rules};
use crate::shard::abroad::{ABROAD_MAX, Abroad};
use crate::shard::command::KeyQuota;
use crate::shard::{self, MAILBOX_MAX, Seeds, ShardMailbox, ShardSetup};
use crate::sys::clock::Clock;
use crate::sys::net::Bound;
use crate::sys::spawn::{self, Thread};
use crate::tokens::LiveTokens;

/// A running node.
#[derive(Debug)]
pub struct Node {
    native_addr: SocketAddr,
    http_addr: SocketAddr,
    resp_addr: SocketAddr,
    peer_addr: SocketAddr,
    view: Arc<View>,
    draining: CancellationToken,
    reload: Arc<Notify>,
    threads: Vec<Thread>,
    errands: Errands,
    membership: Membership,
    /// Ours until the last thread has ended.
    _data: Option<Data>,
}

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An address cannot be listened at.
    #[error("{field}: {address}: {source}")]
    Listen {
        /// The flag that gave the address.
        field: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// There is no encryption with these files.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The node is in no cluster.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// What stands in the data folder cannot be used.
    #[error("data: {0}")]
    Shelf(#[from] ShelfError),
    /// The rules of an older program are not taken over.
    #[error("data: {0}")]
    Import(#[from] ImportError),
    /// The rules that are live are another program's.
    #[error("data: {0}")]
    Rules(#[from] NotUnderstood),
    /// The rules to publish at the start make no sense.
    #[error(transparent)]
    RulesFile(#[from] Faulty),
    /// The rules to publish at the start cannot be published.
    #[error("rules: {0}")]
    Publish(PublishError),
    /// The system has no thread for us.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

impl Node {
    /// Starts a node; when this returns, it is reachable.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running.
    pub async fn start(config: Config) -> Result<Node, StartError> {
        Node::start_on(Clock::start(), config).await
    }

    /// Starts a node whose time is what `clock` says.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub async fn start_on(clock: Clock, config: Config) -> Result<Node, StartError> {
        config.validate()?;
        let certificates = config.tls.clone().map(Certificates::load).transpose()?.map(Arc::new);
        let data = config.data.as_deref().map(Data::open).transpose()?;
        let first = First::read(&config, data.as_ref())?;
        let (listeners, listening, peer) = listen_at(&config).await?;
        let tokens = Arc::new(LiveTokens::new(config.tokens.clone()));
        let mut membership =
            Membership::start(&config, data.as_ref(), listening, peer, &tokens, certificates.clone(), clock).await?;
        let started = Parts::start(&config, &mut membership, first, certificates, tokens, listeners).await;
        let (parts, threads, errands) = match started {
            Ok(started) => started,
            Err(error) => {
                membership.stop().await;
                return Err(error);
            }
        };
        let Listening { native, http, resp, peer } = listening;
        let rules = parts.rules.live().version.version;
        let (shards, node, tls) = (config.shards.get(), config.node_id.id().0, config.tls.is_some());
        info!(%native, %http, %resp, %peer, shards, node, rules, tls, "serving");
        Ok(Node {
            native_addr: native,
            http_addr: http,
            resp_addr: resp,
            peer_addr: peer,
            view: parts.view,
            draining: parts.draining,
            reload: parts.reload,
            threads,
            errands,
            membership,
            _data: data,
        })
    }

    /// Where the native protocol is spoken.
    pub fn native_addr(&self) -> SocketAddr {
        self.native_addr
    }

    /// Where HTTP is spoken.
    pub fn http_addr(&self) -> SocketAddr {
        self.http_addr
    }

    /// Where RESP is spoken.
    pub fn resp_addr(&self) -> SocketAddr {
        self.resp_addr
    }

    /// Where other nodes call.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer_addr
    }

    /// What all nodes agree on, and where more of it is proposed.
    pub fn control(&self) -> &Control {
        &self.membership.control
    }

    /// Who is in the cluster, as this node sees it, and where it learns better.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Reads tokens and certificates again, now.
    pub fn reload(&self) {
        self.reload.notify_one();
    }

    /// Stops accepting, lets connections finish, and waits until every thread has ended.
    ///
    /// # Panics
    /// If a thread of the node panicked.
    pub async fn drain(self) {
        info!("draining");
        self.draining.cancel();
        for thread in self.threads {
            thread.join().await;
        }
        self.errands.stop().await;
        self.membership.stop().await;
        info!("drained");
    }
}

/// Where the node listens.
struct Listeners {
    native: Bound,
    resp: Bound,
    http: Bound,
}

/// What the threads share.
struct Parts {
    seeds: Seeds,
    view: Arc<View>,
    clock: Clock,
    timekeeper: Arc<Timekeeper>,
    clock_gauge: Arc<ClockGauge>,
    mailboxes: Arc<[ShardMailbox]>,
    abroad: Arc<Abroad>,
    errands: Arc<ErrandTally>,
    pulses: Vec<Arc<AtomicU64>>,
    gateways: Arc<Gateways>,
    rules: Arc<Rules>,
    tokens: Arc<LiveTokens>,
    certificates: Option<Arc<Certificates>>,
    doors: Arc<DoorTallies>,
    reloads: Arc<ReloadTally>,
    /// Somebody asks for tokens and certificates to be read again.
    reload: Arc<Notify>,
    connections: Arc<AtomicUsize>,
    draining: CancellationToken,
}

impl Parts {
    async fn start(
        config: &Config,
        membership: &mut Membership,
        first: First,
        certificates: Option<Arc<Certificates>>,
        tokens: Arc<LiveTokens>,
        listeners: Listeners,
    ) -> Result<(Parts, Vec<Thread>, Errands), StartError> {
        let (rules, later) = first.settle(membership).await?;
        let parts = Parts::new(config, membership, rules, certificates, tokens);
        let errands = Errands::start(&parts, membership, config)?;
        match parts.start_threads(config, membership, listeners, later) {
            Ok(threads) => Ok((parts, threads, errands)),
            Err(error) => {
                errands.stop().await;
                Err(error.into())
            }
        }
    }

    fn new(
        config: &Config,
        membership: &Membership,
        rules: Arc<Rules>,
        certificates: Option<Arc<Certificates>>,
        tokens: Arc<LiveTokens>,
    ) -> Parts {
        let clock = membership.pulse.clock().clone();
        Parts {
            seeds: membership.seeds(),
            view: Arc::new(View::new(config.node_id.id(), membership.topology())),
            mailboxes: (0..config.shards.get()).map(|_| ShardMailbox::new(MAILBOX_MAX)).collect(),
            abroad: Arc::new(Abroad::new(ABROAD_MAX)),
            errands: Arc::default(),
            pulses: (0..config.shards.get()).map(|_| Arc::new(AtomicU64::new(clock.now_us()))).collect(),
            timekeeper: Arc::clone(membership.pulse.timekeeper()),
            clock_gauge: Arc::default(),
            clock,
            gateways: Arc::clone(membership.pulse.gateways()),
            rules,
            tokens,
            certificates,
            doors: Arc::default(),
            reloads: Arc::default(),
            reload: Arc::default(),
            connections: Arc::default(),
            draining: CancellationToken::new(),
        }
    }

    fn start_threads(
        &self,
        config: &Config,
        membership: &Membership,
        listeners: Listeners,
        later: Option<FirstRules>,
    ) -> io::Result<Vec<Thread>> {
        let mut threads = Vec::with_capacity(self.mailboxes.len() + 2);
        for index in 0..config.shards.get() {
            let setup = self.shard_setup(config, index);
            threads.push(spawn::thread(format!("shard-{index}"), move || shard::run(setup))?);
        }
        let Listeners { native, resp, http } = listeners;
        threads.push(self.start_acceptor(config, membership, native, resp, later)?);
        threads.push(self.start_http(config, membership, http)?);
        Ok(threads)
    }

    fn shard_setup(&self, config: &Config, index: u16) -> ShardSetup {
        ShardSetup {
            index,
            node: config.node_id.id(),
            mailboxes: Arc::clone(&self.mailboxes),
            abroad: Arc::clone(&self.abroad),
            seeds: self.seeds.clone(),
            bounds: bounds(config),
            territory: self.view.territory(),
            rules: Arc::clone(&self.rules.live().frames),
            clock: self.clock.clone(),
            pulse: Arc::clone(&self.pulses[usize::from(index)]),
            tokens: Arc::clone(&self.tokens),
            idle_timeout: config.idle_timeout,
            doors: Arc::clone(&self.doors),
            node_connections: Arc::clone(&self.connections),
            draining: self.draining.clone(),
        }
    }

    fn start_acceptor(
        &self,
        config: &Config,
        membership: &Membership,
        native: Bound,
        resp: Bound,
        later: Option<FirstRules>,
    ) -> io::Result<Thread> {
        let acceptor = Acceptor {
            tally: Arc::clone(self.doors.of(Door::Native)),
            mailboxes: Arc::clone(&self.mailboxes),
            tokens: Arc::clone(&self.tokens),
            gateways: Arc::clone(&self.gateways),
        };
        let resp_acceptor = RespAcceptor::new(Arc::clone(self.doors.of(Door::Resp)), Arc::clone(&self.mailboxes));
        let (native_entrance, resp_entrance) = (self.entrance(Door::Native, config), self.entrance(Door::Resp, config));
        let news = News {
            mailboxes: Arc::clone(&self.mailboxes),
            view: Arc::clone(&self.view),
            gateways: Arc::clone(&self.gateways),
            rules: Arc::clone(&self.rules),
            told: self.rules.live().version,
            tokens: Arc::clone(&self.tokens),
        };
        let reload = self.reload_of(config);
        let follow = membership.follow(Arc::clone(&self.view));
        let rules = Arc::clone(&self.rules);
        let time = show_time(Arc::clone(&self.timekeeper), Arc::clone(&self.clock_gauge));
        let draining = self.draining.clone();
        spawn::thread("acceptor".into(), move || async move {
            let news = Arc::new(news);
            let news = [
                tokio::task::spawn_local(Arc::clone(&news).spread_gateways()),
                tokio::task::spawn_local(Arc::clone(&news).spread_topologies()),
                tokio::task::spawn_local(Arc::clone(&news).spread_rules()),
                tokio::task::spawn_local(news.spread_tokens()),
                tokio::task::spawn_local(reload.run(draining.clone())),
                tokio::task::spawn_local(time),
                tokio::task::spawn_local(follow),
                tokio::task::spawn_local(Arc::clone(&rules).follow()),
                tokio::task::spawn_local(async move {
                    if let Some(later) = later {
                        later.insist(rules).await;
                    }
                }),
            ];
            match (native.open(), resp.open()) {
                (Ok(native), Ok(resp)) => {
                    let resp = resp_entrance.open(resp, resp_acceptor, &draining);
                    tokio::join!(native_entrance.open(native, acceptor, &draining), resp);
                }
                (Err(error), _) | (_, Err(error)) => tracing::error!(%error, "a listener is broken"),
            }
            news.iter().for_each(JoinHandle::abort);
        })
    }

    fn start_http(&self, config: &Config, membership: &Membership, http: Bound) -> io::Result<Thread> {
        let mailboxes = Mailboxes { shards: Arc::clone(&self.mailboxes), abroad: Arc::clone(&self.abroad) };
        let shards = Shards::new(mailboxes, Arc::clone(&self.view), self.seeds.clone(), quota(config));
        let shards = Arc::new(shards);
        let door = HttpDoor {
            node: config.node_id.id(),
            view: Arc::clone(&self.view),
            control: membership.control.clone(),
            mailboxes: Arc::clone(&self.mailboxes),
            pulses: self.pulses.clone(),
            clock: self.clock.clone(),
            doors: Arc::clone(&self.doors),
            reloads: Arc::clone(&self.reloads),
            errands: Arc::clone(&self.errands),
            clock_gauge: Arc::clone(&self.clock_gauge),
            certificates: self.certificates.clone(),
            latency: Default::default(),
            locals: Default::default(),
            rules: Arc::clone(&self.rules),
            judge: Judge::new(Arc::clone(&shards), Arc::clone(&self.rules)),
            shards,
            tokens: Arc::clone(&self.tokens),
            advertise_host: config.advertise_host.as_ref().map(|host| host.as_str().to_owned()),
            answering: Arc::clone(&self.connections),
            draining: self.draining.clone(),
        };
        let entrance = self.entrance(Door::Http, config);
        spawn::thread("http".into(), move || async move {
            match http.open() {
                Ok(listener) => http::run(door, entrance, listener).await,
                Err(error) => tracing::error!(%error, "a listener is broken"),
            }
        })
    }
}

impl Parts {
    fn entrance(&self, door: Door, config: &Config) -> Entrance {
        let (bounds, when_full) = match door {
            Door::Native | Door::Resp => (config.crowd, WhenFull::Refuse),
            // A probe has to come through whoever holds connections open.
            Door::Http => (config.crowd.of_people(), WhenFull::OustIdlest),
        };
        let (certificates, tally) = (self.certificates.clone(), Arc::clone(self.doors.of(door)));
        Entrance::new(door, EntranceSetup { bounds, when_full, certificates, tally })
    }

    fn reload_of(&self, config: &Config) -> Reload {
        Reload {
            tokens: config.token_file.clone().map(|path| (path, Arc::clone(&self.tokens))),
            certificates: self.certificates.clone(),
            asked: Arc::clone(&self.reload),
            tally: Arc::clone(&self.reloads),
        }
    }
}

/// How often metrics are told how far off the clock is.
const SHOW_TIME_EVERY: Duration = Duration::from_secs(1);

/// Tells metrics how far off the clock is.
async fn show_time(timekeeper: Arc<Timekeeper>, gauge: Arc<ClockGauge>) {
    loop {
        gauge.note(timekeeper.deviation().behind_us);
        tokio::time::sleep(SHOW_TIME_EVERY).await;
    }
}

/// What one shard may hold.
fn bounds(config: &Config) -> Bounds {
    let share = config.memory_max.get() / u64::from(config.shards.get());
    Bounds::of_bytes(usize::try_from(share).unwrap_or(usize::MAX))
}

/// How many keys of a rule one shard holds.
fn quota(config: &Config) -> KeyQuota {
    KeyQuota { shards: config.shards.get(), any_rule_max: bounds(config).rule_keys_max as u64 }
}

/// Listens everywhere; nobody is answered yet.
async fn listen_at(config: &Config) -> Result<(Listeners, Listening, Bound), StartError> {
    let native = listen("native-addr", config.native_addr).await?;
    let http = listen("http-addr", config.http_addr).await?;
    let resp = listen("resp-addr", config.resp_addr).await?;
    let peer = listen("peer-addr", config.peer_addr).await?;
    let listening = Listening {
        native: native.local_addr()?,
        http: http.local_addr()?,
        resp: resp.local_addr()?,
        peer: peer.local_addr()?,
    };
    Ok((Listeners { native, resp, http }, listening, peer))
}

async fn listen(field: &'static str, address: SocketAddr) -> Result<Bound, StartError> {
    Bound::listen(address).await.map_err(|source| StartError::Listen { field, address, source })
}
