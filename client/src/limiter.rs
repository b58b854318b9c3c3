//! A limiter: one limit behind a `check` that always answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tallyring_engine::{Algorithm, Ask, Limit};
use tallyring_protocol::{Key, KeyRef};

use crate::decision::{Decision, Source};
use crate::definition::{Definition, LimitHandle};
use crate::error::{HandlesFull, StoreError};
use crate::fallback::Fallback;
use crate::keyed::Keyed;
use crate::store::Store;
use crate::sys::clock::{self, WallClock};
use crate::sys::random::Random;

/// Longest name of a limiter, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// What a limiter does beside its limit.
///
/// ```
/// use tallyring_client::{LimiterConfig, Mode};
/// let config = LimiterConfig { name: "logins".into(), mode: Mode::Deny, ..LimiterConfig::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterConfig {
    /// The rule's id: the store counts outcomes by it, headers show it. `1 ..=` [`NAME_BYTES_MAX`] printable ASCII characters.
    pub name: String,
    /// What happens while the store cannot be asked.
    pub mode: Mode,
    /// How many gateways share the limit, until the store has said it: it counts them, and its last number is kept.
    pub fallback_gateways: u32,
    /// Memory for the fallback's counters, in bytes, at most about this.
    pub fallback_bytes_max: usize,
}

impl Default for LimiterConfig {
    fn default() -> LimiterConfig {
        LimiterConfig {
            name: "default".to_owned(),
            mode: Mode::Protect,
            fallback_gateways: 1,
            fallback_bytes_max: 16 << 20,
        }
    }
}

/// What happens while the store cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// This gateway decides alone, within its share of the limit.
    Protect,
    /// Nobody passes: for limits that cost money when they leak.
    Deny,
}

/// Why there is no such limiter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimiterError {
    /// Too many limits are in use.
    #[error(transparent)]
    HandlesFull(#[from] HandlesFull),
    /// Slots are acquired and released, not checked.
    #[error("algorithm: concurrency cannot be checked")]
    Concurrency,
    /// The name does not fit a header.
    #[error("name: {name:?} is not 1 ..= {NAME_BYTES_MAX} printable ASCII characters")]
    Name {
        /// The name that came.
        name: String,
    },
}

/// How a limiter has answered since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allowed by the store.
    pub store_allowed: u64,
    /// Denied by the store.
    pub store_denied: u64,
    /// Allowed by the fallback: what the limit may have been exceeded by.
    pub fallback_allowed: u64,
    /// Denied by the fallback.
    pub fallback_denied: u64,
    /// Denied because the mode is [`Mode::Deny`].
    pub mode_denied: u64,
}

/// A limit that requests are checked against. Cheap to clone; the clones share everything.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tallyring_client::{Algorithm, Limit, LimiterConfig, Period, RateLimiter, Store, StoreConfig};
///
/// let store = Store::open(StoreConfig::default());
/// let limit = Limit::new(Algorithm::TokenBucket, 300, Period::Micros(60_000_000), Some(100))?;
/// let limiter = RateLimiter::new(store, limit, LimiterConfig::default())?;
///
/// let decision = limiter.check("customer 42").await;
/// if !decision.allowed {
///     println!("again in {:?}, says {:?}", decision.retry_after, decision.source);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RateLimiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    limit: LimitHandle,
    config: LimiterConfig,
    fallback: Fallback,
    clock: WallClock,
    tally: Tally,
    /// Whether the last answer came without the store: a change is worth a line in the log, each answer is not.
    is_alone: AtomicBool,
}

#[derive(Debug, Default)]
struct Tally {
    store_allowed: AtomicU64,
    store_denied: AtomicU64,
    fallback_allowed: AtomicU64,
    fallback_denied: AtomicU64,
    mode_denied: AtomicU64,
}

impl RateLimiter {
    /// A limiter of `limit`, counted in `store`.
    ///
    /// # Errors
    /// [`LimiterError`], for a name or an algorithm that cannot be.
    pub fn new(store: Store, limit: Limit, config: LimiterConfig) -> Result<RateLimiter, LimiterError> {
        if limit.algorithm() == Algorithm::Concurrency {
            return Err(LimiterError::Concurrency);
        }
        if !is_name(&config.name) {
            return Err(LimiterError::Name { name: config.name });
        }
        let handle = store.define(Definition { rule: config.name.clone(), ..limit.into() })?;
        let secret = Random::from_os().next_u128().to_le_bytes();
        Ok(RateLimiter(Arc::new(Inner {
            fallback: Fallback::new(limit, config.fallback_bytes_max, secret),
            store,
            limit: handle,
            config,
            clock: WallClock::start(),
            tally: Tally::default(),
            is_alone: AtomicBool::new(false),
        })))
    }

    /// Asks for one unit of a key's budget. Answers within the store's deadline, whatever happens.
    pub async fn check(&self, key: &(impl Keyed + ?Sized)) -> Decision {
        self.ask(key, Ask::new(1)).await
    }

    /// Asks for as much, and with as much left for others, as `ask` says. Answers within the store's deadline.
    pub async fn ask(&self, key: &(impl Keyed + ?Sized), ask: Ask) -> Decision {
        let key: &Key = &key.key();
        let decision = match self.0.store.check(&self.0.limit, key, ask).await {
            Ok(decided) => {
                self.note_store();
                self.keep_warm(key.as_ref(), ask, decided.allowed);
                Decision::from_store(self.limit().ceiling(), &decided)
            }
            Err(error) => {
                self.note_alone(&error);
                self.decide_alone(key.as_ref(), ask)
            }
        };
        self.0.tally.count(&decision);
        decision
    }

    /// Gives back what `decision` charged: for a request that turned out to cost nothing. Without the store it is lost
    /// there, and the customer waits for what was never used; never the other way round.
    pub async fn refund(&self, key: &(impl Keyed + ?Sized), cost: u64, decision: &Decision) {
        if !decision.allowed {
            return; // it took nothing
        }
        let key: &Key = &key.key();
        let now = self.0.clock.at(clock::now());
        self.0.fallback.refund(now, key.as_ref(), cost, self.gateways());
        if decision.source == Source::Store {
            let _ = self.0.store.refund(&self.0.limit, key, cost, decision.charged_at_us).await;
        }
    }

    /// The limit.
    pub fn limit(&self) -> Limit {
        self.0.limit.definition().limit
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.0.config.name
    }

    /// The store that counts.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// How it has answered so far.
    pub fn counts(&self) -> Counts {
        self.0.tally.read()
    }

    fn gateways(&self) -> u32 {
        self.0.store.gateways().unwrap_or(self.0.config.fallback_gateways)
    }

    fn keep_warm(&self, key: KeyRef<'_>, ask: Ask, allowed: bool) {
        if allowed && !ask.is_peek() && self.0.config.mode == Mode::Protect {
            self.0.fallback.charge(self.0.clock.at(clock::now()), key, ask.cost, self.gateways());
        }
    }

    fn decide_alone(&self, key: KeyRef<'_>, ask: Ask) -> Decision {
        match self.0.config.mode {
            Mode::Deny => Decision::denied_by_mode(self.limit().ceiling()),
            Mode::Protect => {
                let now = self.0.clock.at(clock::now());
                Decision::from_fallback(&self.0.fallback.check(now, key, ask, self.gateways()))
            }
        }
    }

    fn note_alone(&self, error: &StoreError) {
        if !self.0.is_alone.load(Ordering::Relaxed) && !self.0.is_alone.swap(true, Ordering::Relaxed) {
            tracing::warn!(limiter = self.name(), mode = ?self.0.config.mode, %error, "deciding without the store");
        }
    }

    fn note_store(&self) {
        if self.0.is_alone.load(Ordering::Relaxed) && self.0.is_alone.swap(false, Ordering::Relaxed) {
            tracing::info!(limiter = self.name(), "the store decides again");
        }
    }
}

impl Tally {
    fn count(&self, decision: &Decision) {
        let counter = match (decision.source, decision.allowed) {
            (Source::Store, true) => &self.store_allowed,
            (Source::Store, false) => &self.store_denied,
            (Source::Fallback, true) => &self.fallback_allowed,
            (Source::Fallback, false) => &self.fallback_denied,
            (Source::Mode, _) => &self.mode_denied,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> Counts {
        Counts {
            store_allowed: self.store_allowed.load(Ordering::Relaxed),
            store_denied: self.store_denied.load(Ordering::Relaxed),
            fallback_allowed: self.fallback_allowed.load(Ordering::Relaxed),
            fallback_denied: self.fallback_denied.load(Ordering::Relaxed),
            mode_denied: self.mode_denied.load(Ordering::Relaxed),
        }
    }
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}
