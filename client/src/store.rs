//! The store, as a gateway sees it: its commands, typed.

mod joint;
mod reserve;
mod rules;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use tallyring_engine::Ask;
use tallyring_protocol::bounds::NAME_BYTES_MAX;
use tallyring_protocol::{Charge, Key, KeyRef, Refund, Request};

use crate::background::Background;
use crate::config::{DEADLINE_MAX, IN_FLIGHT_MAX, StoreConfig};
use crate::connection::{Answer, Call, Outcome, Timing};
use crate::definition::{Definition, Handles, LimitHandle};
use crate::error::{HandlesFull, StoreError};
use crate::reroute::Reroute;
use crate::router::Router;
use crate::seeds;
use crate::sys::clock::{self, Instant};
use crate::{StoreDecision, StoreGrant};

/// A store of counters, somewhere on the network. Cheap to clone; the clones share connections.
///
/// A call takes at most the deadline it was opened with, whatever the network does. When the last clone is dropped, the
/// connections close.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tallyring_client::{Algorithm, Ask, Key, Limit, Period, Store, StoreConfig};
///
/// let store = Store::open(StoreConfig::default());
/// let limit = store.define(Limit::new(Algorithm::TokenBucket, 300, Period::Micros(60_000_000), Some(100))?)?;
/// let key = Key::raw(b"customer 42")?;
/// let decision = store.check(&limit, &key, Ask::new(1)).await?;
/// if !decision.allowed {
///     println!("again in {} us", decision.retry_after_us);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    router: Arc<Router>,
    handles: Arc<Handles>,
    background: Arc<Background>,
    deadline: Duration,
    /// When every call ends, however late it begins: several calls that have one deadline.
    until: Option<Instant>,
}

impl Store {
    /// Begins to connect and returns at once, also while the store is down. Numbers over their bounds are cut to them.
    ///
    /// # Panics
    /// Outside of a tokio runtime: the connections are its tasks.
    pub fn open(config: StoreConfig) -> Store {
        let deadline = config.deadline.min(DEADLINE_MAX);
        let in_flight_max = config.in_flight_max.clamp(1, IN_FLIGHT_MAX);
        let router = Router::new(StoreConfig { deadline, in_flight_max, ..config });
        tokio::spawn(seeds::keep_asking(Arc::downgrade(&router)));
        let background = Arc::new(Background::new(router.gateway().instance()));
        Store { router, handles: Arc::default(), background, deadline, until: None }
    }

    /// Waits until every connection is up, at most `within`; says whether they are.
    ///
    /// Nothing needs it: a call that comes earlier waits for its connection, within its own deadline.
    pub async fn ready(&self, within: Duration) -> bool {
        let wait = async {
            loop {
                let mut change = std::pin::pin!(self.router.gateway().change());
                change.as_mut().enable();
                if self.router.is_ready() {
                    return;
                }
                change.await;
            }
        };
        tokio::time::timeout(within, wait).await.is_ok()
    }

    /// Gives the numbers of a limit a handle, which the calls name. Equal definitions share one; it is explained to each
    /// shard just before its first use there, and given up when its last clone is dropped.
    ///
    /// # Errors
    /// [`HandlesFull`] if 16,384 different limits are in use.
    pub fn define(&self, definition: impl Into<Definition>) -> Result<LimitHandle, HandlesFull> {
        self.handles.get(definition.into())
    }

    /// Decides, and charges if allowed. The decision carries the instant of the charge, which a refund can name.
    ///
    /// # Errors
    /// Whatever kept the store from deciding. After [`StoreError::Timeout`] and [`StoreError::ConnectionLost`] it may
    /// have been charged all the same.
    pub async fn check(&self, limit: &LimitHandle, key: &Key, ask: Ask) -> Result<StoreDecision, StoreError> {
        let key = key.as_ref();
        let charge = Charge { handle: limit.handle(), cost: ask.cost, keep: ask.keep, force: ask.force, key };
        decision(self.call(key, Request::Check(charge), &[limit]).await)
    }

    /// Takes as many units as there are, up to `cost`, and leaves `keep`.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn take(&self, limit: &LimitHandle, key: &Key, cost: u64, keep: u64) -> Result<StoreGrant, StoreError> {
        let key = key.as_ref();
        let charge = Charge { handle: limit.handle(), cost, keep, force: false, key };
        match self.call(key, Request::Take(charge), &[limit]).await? {
            Answer::Grant(grant) => Ok(grant),
            _ => Err(StoreError::Unexpected),
        }
    }

    /// Gives `cost` units back, where they were charged if `charged_at_us` says when: the `at_us` of that decision.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn refund(
        &self,
        limit: &LimitHandle,
        key: &Key,
        cost: u64,
        charged_at_us: Option<u64>,
    ) -> Result<StoreDecision, StoreError> {
        let key = key.as_ref();
        let refund = Refund { handle: limit.handle(), cost, charged_at_us, key };
        decision(self.call(key, Request::Refund(refund), &[limit]).await)
    }

    /// Gives a key its whole budget back, under every algorithm, and says whether there was anything to forget. The
    /// token has to be an admin's.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        match self.call(key.as_ref(), Request::Reset(key.as_ref()), &[]).await? {
            Answer::Reset { found } => Ok(found),
            _ => Err(StoreError::Unexpected),
        }
    }

    /// Asks some shard whether it is there, without waiting for a connection.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] if no connection is up; else as [`Store::check`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        let connection = self.router.any()?;
        match Call::new(&connection, Request::Ping, &[], self.timing()).await? {
            Answer::Pong => Ok(()),
            _ => Err(StoreError::Unexpected),
        }
    }

    /// How many gateways share the store, this one included, as the store said last; `None` before any contact.
    pub fn gateways(&self) -> Option<u32> {
        self.router.gateways()
    }

    /// The epoch of the topology that calls are routed by; `None` before any contact.
    pub fn epoch(&self) -> Option<u64> {
        self.router.epoch()
    }

    /// Whether any connection is up.
    pub fn is_connected(&self) -> bool {
        self.router.is_connected()
    }

    /// How long a call may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The same store for calls that end at `until` at the latest.
    pub(crate) fn until(&self, until: Instant) -> Store {
        Store { until: Some(until), ..self.clone() }
    }

    /// Whether two keys surely live on one shard, so that they can be decided together.
    pub(crate) fn are_together(&self, one: &Key, other: &Key) -> bool {
        let (one, other) = (one.as_ref(), other.as_ref());
        let place = |key| self.router.place(key);
        one.tag() == other.tag() || place(one).is_some_and(|here| place(other) == Some(here))
    }

    /// Why a call about this key would fail without being sent, if that is known at `now`: a gateway whose store is gone
    /// need not ask to be told so. It changes nothing: the probe of a breaker is for calls.
    pub(crate) fn refuses(&self, key: &Key, now: Instant) -> Option<StoreError> {
        match self.router.with_owner(key.as_ref(), |owner| owner.refuses(now)) {
            Ok(refusal) => refusal,
            Err(error) => (!self.router.gateway().is_hopeful()).then_some(error),
        }
    }

    /// What says last words.
    pub(crate) fn background(&self) -> &Background {
        &self.background
    }

    async fn call(&self, key: KeyRef<'_>, request: Request<'_>, limits: &[&LimitHandle]) -> Outcome {
        let timing = self.timing();
        if timing.now >= timing.deadline {
            return Err(StoreError::Timeout);
        }
        let (outcome, may_come_up) = match self.router.owner(key) {
            Ok(connection) => {
                let outcome = Call::new(&connection, request, limits, timing).await;
                let is_unsent = matches!(outcome, Err(StoreError::Unreachable));
                (outcome, is_unsent && connection.may_come_up())
            }
            Err(error) => (Err(error), self.router.gateway().is_hopeful()),
        };
        match outcome {
            // While the store is gone every call comes here, and none may cost more than a look.
            Err(StoreError::Unreachable) if !may_come_up => Err(StoreError::Unreachable),
            Err(error) if Reroute::helps(&error, &request) => {
                let Timing { deadline, .. } = timing;
                // Boxed: every call would otherwise carry the rare path's state.
                Box::pin(Reroute { router: &self.router, key, request, limits, deadline }.run(error)).await
            }
            outcome => outcome,
        }
    }

    fn timing(&self) -> Timing {
        let now = clock::now();
        Timing { now, deadline: self.until.unwrap_or(now + self.deadline) }
    }
}

fn decision(outcome: Outcome) -> Result<StoreDecision, StoreError> {
    match outcome? {
        Answer::Decision(decision) => Ok(decision),
        _ => Err(StoreError::Unexpected),
    }
}

/// A name that the protocol can carry.
fn named<'a>(field: &str, name: &'a [u8]) -> Result<&'a [u8], StoreError> {
    if (1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(name);
    }
    let reason = format!("{} bytes is not in 1 ..= {NAME_BYTES_MAX}", name.len());
    Err(StoreError::Invalid { field: field.to_owned(), reason })
}

/// Microseconds on the wire, where the store judges them.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
