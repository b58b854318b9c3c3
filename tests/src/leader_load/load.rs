//! The load: more callers than the machine can serve, on connections to every node.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{fmt, io};

use tallyring_client::{Algorithm, Ask, Key, Limit, LimitHandle, Period, Store, StoreConfig};
use tokio::runtime::Runtime;

/// Callers that ask one question after the other.
const CALLERS: u64 = 256;

/// How long a caller waits: the nodes are behind with their answers, and are to be asked all the same.
const DEADLINE: Duration = Duration::from_secs(2);

/// How long a caller that got no answer leaves the nodes alone.
const AFTER_FAILURE: Duration = Duration::from_millis(1);

/// Keys that they ask for.
const KEYS: u64 = 100_000;

/// Callers, asking.
#[derive(Debug)]
pub(super) struct Load {
    runtime: Runtime,
    asking: Arc<Asking>,
}

#[derive(Debug, Default)]
struct Asking {
    stop: AtomicBool,
    decided: AtomicU64,
    failed: AtomicU64,
}

/// What became of the questions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Those that the store decided.
    pub decided: u64,
    /// Those that it did not in time: a node was dead, or busy.
    pub failed: u64,
}

impl Load {
    /// Starts to ask the nodes at these addresses.
    pub(super) fn start(nodes: &[SocketAddr]) -> io::Result<Load> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let asking = Arc::new(Asking::default());
        let seeds = nodes.iter().map(SocketAddr::to_string).collect();
        let _inside = runtime.enter();
        let config = StoreConfig { seeds, name: "load".to_owned(), deadline: DEADLINE, ..StoreConfig::default() };
        let store = Store::open(config);
        let limit = Limit::new(Algorithm::TokenBucket, 10, Period::Micros(1_000_000), None);
        let limit = store.define(limit.map_err(io::Error::other)?).map_err(io::Error::other)?;
        for caller in 0..CALLERS {
            runtime.spawn(Arc::clone(&asking).ask(store.clone(), limit.clone(), caller));
        }
        drop(_inside);
        Ok(Load { runtime, asking })
    }

    /// Ends the load.
    pub(super) fn stop(self) -> Asked {
        self.asking.stop.store(true, Ordering::Relaxed);
        self.runtime.shutdown_background();
        let Asking { decided, failed, .. } = &*self.asking;
        Asked { decided: decided.load(Ordering::Relaxed), failed: failed.load(Ordering::Relaxed) }
    }
}

impl Asking {
    async fn ask(self: Arc<Asking>, store: Store, limit: LimitHandle, caller: u64) {
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let key = Key::raw(format!("key {}", (caller + number * CALLERS) % KEYS).as_bytes());
            let key = key.expect("it is short");
            if store.check(&limit, &key, Ask::new(1)).await.is_ok() {
                self.decided.fetch_add(1, Ordering::Relaxed);
            } else {
                self.failed.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} decided by the nodes, {} not in time", self.decided, self.failed)
    }
}
