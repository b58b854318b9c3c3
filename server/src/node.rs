//! A node: the only file that knows every part. It starts the threads, joins them, and drains them in between.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

use tallyring_engine::Bounds;
use tallyring_protocol::{IdentityHasher, Node as Member, Topology};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::acceptor::{self, Acceptor, AcceptorTally};
use crate::cluster::gateways::Gateways;
use crate::cluster::view::View;
use crate::config::{Config, ConfigError};
use crate::door::http::{self, HttpDoor};
use crate::shard::{self, MAILBOX_MAX, Message, Seeds, ShardMailbox, ShardSetup};
use crate::sys::clock::Clock;
use crate::sys::net::Bound;
use crate::sys::spawn::{self, Thread};

/// How long news of gateways gathers before it is pushed: a rolling restart of a fleet is not a thousand pushes.
const GATEWAYS_DEBOUNCE: Duration = Duration::from_millis(100);

/// A running node.
#[derive(Debug)]
pub struct Node {
    native_addr: SocketAddr,
    http_addr: SocketAddr,
    draining: CancellationToken,
    threads: Vec<Thread>,
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
        let native = listen("native-addr", config.native_addr).await?;
        let http = listen("http-addr", config.http_addr).await?;
        let (native_addr, http_addr) = (native.local_addr()?, http.local_addr()?);
        let parts = Parts {
            view: Arc::new(View::new(topology(&config, native_addr, clock.now_us()))),
            clock,
            mailboxes: (0..config.shards.get()).map(|_| ShardMailbox::new(MAILBOX_MAX)).collect(),
            pulses: (0..config.shards.get()).map(|_| Arc::new(AtomicU64::new(clock.now_us()))).collect(),
            gateways: Arc::default(),
            tally: Arc::default(),
            connections: Arc::default(),
            draining: CancellationToken::new(),
        };
        let threads = parts.start_threads(&config, native, http)?;
        info!(native = %native_addr, http = %http_addr, shards = config.shards.get(), node = config.node_id.id().0, "serving");
        Ok(Node { native_addr, http_addr, draining: parts.draining, threads })
    }

    /// Where the native protocol is spoken.
    pub fn native_addr(&self) -> SocketAddr {
        self.native_addr
    }

    /// Where HTTP is spoken.
    pub fn http_addr(&self) -> SocketAddr {
        self.http_addr
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
        info!("drained");
    }
}

/// What the threads share.
struct Parts {
    view: Arc<View>,
    clock: Clock,
    mailboxes: Arc<[ShardMailbox]>,
    pulses: Vec<Arc<AtomicU64>>,
    gateways: Arc<Gateways>,
    tally: Arc<AcceptorTally>,
    connections: Arc<AtomicUsize>,
    draining: CancellationToken,
}

impl Parts {
    fn start_threads(&self, config: &Config, native: Bound, http: Bound) -> io::Result<Vec<Thread>> {
        let mut threads = Vec::with_capacity(self.mailboxes.len() + 2);
        for index in 0..config.shards.get() {
            let setup = self.shard_setup(config, index);
            threads.push(spawn::thread(format!("shard-{index}"), move || shard::run(setup))?);
        }
        threads.push(self.start_acceptor(config, native)?);
        threads.push(self.start_http(http)?);
        Ok(threads)
    }

    fn shard_setup(&self, config: &Config, index: u16) -> ShardSetup {
        let share = config.memory_max.get() / u64::from(config.shards.get());
        let identity = IdentityHasher::new(config.identity_key);
        ShardSetup {
            index,
            node: config.node_id.id(),
            mailboxes: Arc::clone(&self.mailboxes),
            seeds: Seeds { placement: config.placement_seed, identity },
            bounds: Bounds::of_bytes(usize::try_from(share).unwrap_or(usize::MAX)),
            clock: self.clock,
            pulse: Arc::clone(&self.pulses[usize::from(index)]),
            node_connections: Arc::clone(&self.connections),
            draining: self.draining.clone(),
        }
    }

    fn start_acceptor(&self, config: &Config, native: Bound) -> io::Result<Thread> {
        let acceptor = Acceptor {
            mailboxes: Arc::clone(&self.mailboxes),
            tokens: config.tokens.clone(),
            view: Arc::clone(&self.view),
            gateways: Arc::clone(&self.gateways),
            tally: Arc::clone(&self.tally),
        };
        let news = News {
            mailboxes: Arc::clone(&self.mailboxes),
            view: Arc::clone(&self.view),
            gateways: Arc::clone(&self.gateways),
        };
        let draining = self.draining.clone();
        spawn::thread("acceptor".into(), move || async move {
            let news = tokio::task::spawn_local(news.spread());
            match native.open() {
                Ok(listener) => acceptor::run(acceptor, listener, draining).await,
                Err(error) => tracing::error!(%error, "the native listener is broken"),
            }
            news.abort();
        })
    }

    fn start_http(&self, http: Bound) -> io::Result<Thread> {
        let door = HttpDoor {
            mailboxes: Arc::clone(&self.mailboxes),
            pulses: self.pulses.clone(),
            clock: self.clock,
            acceptor: Arc::clone(&self.tally),
            draining: self.draining.clone(),
        };
        spawn::thread("http".into(), move || async move {
            let served = match http.open() {
                Ok(listener) => http::run(door, listener).await,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                tracing::error!(%error, "the HTTP door is broken");
            }
        })
    }
}

/// Spreads the news of gateways that come and go.
struct News {
    mailboxes: Arc<[ShardMailbox]>,
    view: Arc<View>,
    gateways: Arc<Gateways>,
}

impl News {
    async fn spread(self) {
        loop {
            self.gateways.changed().await;
            tokio::time::sleep(GATEWAYS_DEBOUNCE).await;
            let Some(frame) = self.view.set_gateways(self.gateways.live()) else { continue };
            for mailbox in self.mailboxes.iter() {
                // A shard whose mailbox is full has worse to do; the next change tells its connections.
                let _ = mailbox.push(Message::Topology(frame.clone()));
            }
        }
    }
}

async fn listen(field: &'static str, address: SocketAddr) -> Result<Bound, StartError> {
    Bound::listen(address).await.map_err(|source| StartError::Listen { field, address, source })
}

/// The topology of a cluster of one. Its epoch is the instant of its start, so that a client that knew the node before
/// a restart takes the new seeds for newer.
fn topology(config: &Config, native_addr: SocketAddr, started_us: u64) -> Topology {
    let host = config.advertise_host.clone();
    let native = host.map_or_else(|| native_addr.to_string(), |host| format!("{host}:{}", native_addr.port()));
    let member =
        Member { id: config.node_id.id(), weight: 1, shards: config.shards.get(), native, zone: config.zone.clone() };
    Topology { epoch: started_us, placement_seed: config.placement_seed, nodes: vec![member], gateways: 1 }
}
