//! The limiter: rules, store and fallback behind one `check` that always answers. What a gateway calls.

mod call;
mod counts;
mod follow;
mod reserved;
mod shadow;
mod slot;
mod snapshot;
mod tab;
mod undo;
mod upkeep;
mod verdict;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tallyring_engine::Timestamp;
use tallyring_protocol::rules::{Mode, RuleSet};
use tallyring_protocol::{IdentityHasher, IdentityKey, RulesVersion};

pub use self::call::{Call, GroupFilter};
pub use self::counts::Counts;
use self::counts::Tally;
pub use self::reserved::Reserved;
pub(crate) use self::slot::Slot;
pub(crate) use self::snapshot::{Limited, Snapshot};
use self::tab::{Manner, Part, Tab};
use crate::StoreDecision;
use crate::arrears::Arrears;
use crate::decision::{Decision, RuleDecision, Source};
use crate::deny_cache::{DenyCache, Refusal, Refused};
use crate::error::StoreError;
use crate::fallback::{Fallback, Whose};
use crate::prefilter::Prefilter;
use crate::store::Store;
use crate::sys::clock::{self, WallClock};
use crate::sys::random::Random;

/// What a limiter does beside its rules.
#[derive(Clone, Debug)]
pub struct RateLimiterConfig {
    /// The rules that hold until the store has said others: what a gateway that never met its store enforces.
    pub baked_in: RuleSet,
    /// Whether the store's rules replace them, and each other. If not, the baked-in ones hold for ever.
    pub follows_store: bool,
    /// Memory for the local copies of counters, in bytes, at most about this; for the pre-filter once more.
    pub fallback_bytes_max: usize,
}

impl Default for RateLimiterConfig {
    /// No rules until the store says some; 16 MiB.
    fn default() -> RateLimiterConfig {
        RateLimiterConfig { baked_in: RuleSet::empty(), follows_store: true, fallback_bytes_max: 16 << 20 }
    }
}

/// Rules that requests are checked against. Cheap to clone; the clones share everything.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tallyring_client::{Call, RateLimiter, RateLimiterConfig, RuleSet, Store, StoreConfig, Subject};
///
/// let baked_in = RuleSet::from_json(
///     br#"{"rule":[{"id":"per-client","key":["client"],"algorithm":"token_bucket","limit":300,"window":"60s"}]}"#,
/// )?;
/// let store = Store::open(StoreConfig::default());
/// let limiter = RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() });
///
/// let subject = Subject { client: Some("cust_42"), ..Subject::new("POST", "/v1/charges") };
/// let decision = limiter.check(&Call::new(subject)).await;
/// if let Some(speaker) = decision.speaker().filter(|_| !decision.allowed) {
///     println!("{}: again in {:?}, says {:?}", speaker.rule.id(), speaker.retry_after, speaker.source);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RateLimiter(Arc<Inner>);

/// What the clones, and the calls under way, share.
#[derive(Debug)]
pub(crate) struct Inner {
    store: Store,
    snapshot: ArcSwap<Snapshot>,
    /// Under a secret, so that outsiders cannot choose keys that share a counter here.
    hasher: IdentityHasher,
    clock: WallClock,
    deny: DenyCache,
    prefilter: Prefilter,
    fallback: Fallback,
    arrears: Arrears,
    tally: Tally,
    /// Numbers local holders of slots.
    holders: AtomicU64,
    /// Whether the last answer came without the store: a change is worth a line in the log, each answer is not.
    is_alone: AtomicBool,
}

impl RateLimiter {
    /// A limiter whose keys are counted in `store`.
    ///
    /// # Panics
    /// Outside of a tokio runtime: following the store's rules, and telling it what was decided here, are tasks.
    pub fn new(store: Store, config: RateLimiterConfig) -> RateLimiter {
        let secret = Random::from_os().next_u128().to_le_bytes();
        let inner = Arc::new(Inner {
            snapshot: ArcSwap::from_pointee(Snapshot::new(config.baked_in, RulesVersion::NONE, None)),
            hasher: IdentityHasher::new(IdentityKey(secret)),
            clock: WallClock::start(),
            deny: DenyCache::new(),
            prefilter: Prefilter::new(config.fallback_bytes_max),
            fallback: Fallback::new(config.fallback_bytes_max),
            arrears: Arrears::default(),
            tally: Tally::default(),
            holders: AtomicU64::new(0),
            is_alone: AtomicBool::new(false),
            store,
        });
        tokio::spawn(upkeep::keep_up(Arc::downgrade(&inner)));
        if config.follows_store {
            tokio::spawn(follow::follow(Arc::downgrade(&inner)));
        }
        RateLimiter(inner)
    }

    /// Decides by every rule that applies, and charges all of them or none. Answers within the store's deadline,
    /// whatever happens. The call is not needed any more once this has returned its future.
    ///
    /// Dropped before it is ready, the future gives back what some rules have charged; the question that is under way
    /// may be charged all the same.
    pub fn check<'a>(&'a self, call: &Call<'_>) -> impl Future<Output = Decision> + Send + use<'a> {
        self.check_groups(call, &GroupFilter::All)
    }

    /// Decides by the rules of some groups alone.
    pub fn check_groups<'a>(
        &'a self,
        call: &Call<'_>,
        groups: &GroupFilter,
    ) -> impl Future<Output = Decision> + Send + use<'a> {
        Tab::open(&self.0, call, groups, Manner::Check).decide()
    }

    /// Charges an estimate, of at least one unit, that can be corrected within `ttl`, at most a day: see [`Reserved`].
    /// A denial has reserved nothing.
    pub fn reserve<'a>(&'a self, call: &Call<'_>, ttl: Duration) -> impl Future<Output = Reserved> + Send + use<'a> {
        let call = Call { cost: call.cost.max(1), ..*call };
        let tab = Tab::open(&self.0, &call, &GroupFilter::All, Manner::Reserve(ttl));
        async move {
            let (decision, reservations) = tab.reserve().await;
            Reserved::new(&self.0, decision, reservations)
        }
    }

    /// Gives back what `decision` charged: for a request that turned out to cost nothing. If the store cannot be asked
    /// it is lost there, and the customer waits for what was never used; never the other way round.
    pub async fn refund(&self, decision: &Decision) {
        for check in decision.checks.iter().filter(|_| decision.allowed) {
            self.0.refund_here(check, check.charged);
            if let Some(charged_at_us) = check.charged_at_us {
                let handle = check.rule.limited().handle();
                let _ = self.0.store.refund(handle, &check.key, check.charged, Some(charged_at_us)).await;
                self.0.deny.cancel(check.identity);
            }
        }
    }

    /// Gives whoever makes this call their whole budget back, under every rule that applies. The store's token has to be
    /// an admin's. Other gateways may believe their last refusal for a second more.
    ///
    /// # Errors
    /// The first that the store had with one of the keys; the others are reset all the same.
    pub async fn reset(&self, call: &Call<'_>) -> Result<(), StoreError> {
        let tab = Tab::open(&self.0, call, &GroupFilter::All, Manner::Check);
        tab.reset().await
    }

    /// The rules that are in force.
    pub fn rules(&self) -> Arc<RuleSet> {
        Arc::clone(&self.0.snapshot.load().rules)
    }

    /// Which rules are in force: [`RulesVersion::NONE`] while it is the baked-in ones.
    pub fn version(&self) -> RulesVersion {
        self.0.snapshot.load().version
    }

    /// The store that counts.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// How it has answered so far.
    pub fn counts(&self) -> Counts {
        let (now, sums) = (self.0.now(), self.0.arrears.sums());
        let outstanding = |limited: &Limited| limited.grants.as_ref().map_or(0, |grants| grants.outstanding(now));
        Counts {
            grants_outstanding: self.0.snapshot.load().by_id().map(|(_, limited)| outstanding(limited)).sum(),
            arrears_owed: sums.owed,
            arrears_charged: sums.charged,
            arrears_lost: sums.lost,
            ..self.0.tally.read()
        }
    }
}

impl Inner {
    /// The present, on this gateway's clock.
    fn now(&self) -> Timestamp {
        self.clock.at(clock::now())
    }

    /// Whose budget that is for the local copies.
    fn whose<'a>(&self, limited: &'a Limited, identity: u64) -> Whose<'a> {
        let gateways = self.store.gateways().or(limited.fallback_gateways()).unwrap_or(1);
        Whose { limit: limited.handle(), identity, gateways }
    }

    /// Charges the local copies with what the store has admitted.
    fn keep_warm(&self, now: Timestamp, limited: &Limited, whose: Whose<'_>, units: u64) {
        self.keep_fallback_warm(now, limited, whose, units);
        self.keep_prefilter_warm(now, limited, whose, units);
    }

    fn keep_fallback_warm(&self, now: Timestamp, limited: &Limited, whose: Whose<'_>, units: u64) {
        if limited.mode() == Mode::Protect && units > 0 {
            self.fallback.charge(now, whose, units);
        }
    }

    fn keep_prefilter_warm(&self, now: Timestamp, limited: &Limited, whose: Whose<'_>, units: u64) {
        if limited.has_prefilter() {
            self.prefilter.charge(now, whose, units);
        }
    }

    /// Keeps a refusal of the store.
    fn remember(&self, now: Timestamp, limited: &Limited, part: &Part, decision: &StoreDecision) {
        let whose = Refused { identity: part.identity, version: limited.handle().version() };
        let refusal = Refusal {
            retry_after_us: (!decision.never()).then_some(decision.retry_after_us),
            reset_after_us: decision.reset_after_us,
            remaining: decision.remaining,
        };
        self.deny.keep(now, whose, part.ask, &refusal);
    }

    /// Forgets what is known here of a key.
    fn forget(&self, limited: &Limited, identity: u64) {
        self.deny.cancel(identity);
        limited.grants.iter().for_each(|grants| grants.cancel(identity));
        self.arrears.forgive(identity, u64::MAX);
        if limited.define(&self.store).is_ok() {
            self.fallback.reset(self.now(), self.whose(limited, identity));
            self.prefilter.reset(self.now(), self.whose(limited, identity));
        }
    }

    /// Gives units of one rule back to whatever counts here.
    fn refund_here(&self, check: &RuleDecision, units: u64) {
        let limited = check.rule.limited();
        if units == 0 {
            return;
        }
        let (now, whose) = (self.now(), self.whose(limited, check.identity));
        match &limited.grants {
            // The fallback was charged with the whole of the grant.
            Some(grants) if check.source == Source::Grant => grants.give_back(check.identity, units),
            _ => self.fallback.refund(now, whose, units),
        }
        if check.source == Source::Fallback {
            self.arrears.forgive(check.identity, units);
        }
        if limited.has_prefilter() {
            self.prefilter.refund(now, whose, units);
        }
        self.deny.cancel(check.identity);
    }

    fn note_alone(&self, error: &StoreError) {
        if !self.is_alone.load(Ordering::Relaxed) && !self.is_alone.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "deciding without the store");
        }
    }

    fn note_store(&self) {
        if self.is_alone.load(Ordering::Relaxed) && self.is_alone.swap(false, Ordering::Relaxed) {
            tracing::info!("the store decides again");
        }
    }
}
