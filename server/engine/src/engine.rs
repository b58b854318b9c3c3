//! One shard's whole state, and every operation on it.
//!
//! An operation finds the entry, brings its state to the present, decides, and writes back what changed. Only a call
//! that charges, or that comes with other numbers, writes.

mod export;
mod import;
mod joint;
mod keep;
mod peek;
mod reserve;
mod slots;

pub use export::Cursor;
pub use import::{AHEAD_US_MAX, ImportError, Imported};
pub use joint::{PARTS_MAX, Part};
pub use peek::Stock;

use self::keep::{Effect, Expired};
use crate::algorithm::any::AnyCounter;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::leaky_bucket::LeakyBucket;
use crate::algorithm::sliding_counter::SlidingCounter;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::token_bucket::TokenBucket;
use crate::algorithm::{self, Budget, Counter, Verdict};
use crate::bounds::Bounds;
use crate::decision::{Decision, Full, Grant, LimitsFull};
use crate::export::outflow::Outflow;
use crate::export::record::Name;
use crate::identity::Identity;
use crate::limit::{Algorithm, Ask, Limit};
use crate::limits::{LimitId, Limits, Outcome, RuleCounts, RuleRef};
use crate::reservation::Reservations;
use crate::side::Side;
use crate::table::{Found, Table};
use crate::time::Timestamp;
use crate::wheel::Wheel;

/// Due entries whose index lines are asked for together.
const EXPIRIES_AHEAD: usize = 16;

/// The counters of one shard: pure decisions over memory, for one thread.
///
/// ```
/// use tallyring_engine::{Algorithm, Ask, Bounds, Engine, Identity, Limit, Period, Timestamp};
///
/// let mut engine = Engine::new(Bounds::default());
/// let limit = Limit::new(Algorithm::TokenBucket, 1, Period::Micros(1_000_000), None)?;
/// let limit = engine.intern("one-a-second", limit)?;
/// let key = Identity { placement: 1, identity: 2 };
/// let now = Timestamp::from_micros(5_000_000);
///
/// assert!(engine.check(now, key, limit, Ask::new(1))?.allowed);
/// let refused = engine.check(now, key, limit, Ask::new(1))?;
/// assert_eq!(refused.retry_after.exact_us(), Some(1_000_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    bounds: Bounds,
    limits: Limits,
    table: Table,
    wheel: Wheel,
    side: Side,
    reservations: Reservations,
    joint: joint::Scratch,
    outflow: Outflow,
    latest: Timestamp,
}

/// Runs `$body` with `$counter` standing for the type that keeps `$algorithm`.
macro_rules! with_counter {
    ($algorithm:expr, $counter:ident => $body:expr) => {
        match $algorithm {
            Algorithm::TokenBucket => {
                type $counter = TokenBucket;
                $body
            }
            Algorithm::LeakyBucket => {
                type $counter = LeakyBucket;
                $body
            }
            Algorithm::FixedWindow => {
                type $counter = FixedWindow;
                $body
            }
            Algorithm::SlidingLog => {
                type $counter = SlidingLog;
                $body
            }
            Algorithm::SlidingCounter => {
                type $counter = SlidingCounter;
                $body
            }
            Algorithm::Concurrency => unreachable!("slots are acquired and released, not checked"),
        }
    };
}

impl Engine {
    /// An empty engine.
    pub fn new(bounds: Bounds) -> Engine {
        Engine {
            limits: Limits::new(&bounds),
            table: Table::default(),
            wheel: Wheel::default(),
            side: Side::default(),
            reservations: Reservations::new(bounds.reservations_max),
            joint: joint::Scratch::default(),
            outflow: Outflow::default(),
            latest: Timestamp::EPOCH,
            bounds,
        }
    }

    /// The id of `limit` under the rule of that name. The same pair has the same id; every call needs its own
    /// [`release`](Engine::release).
    ///
    /// # Errors
    /// Too many limits or rules are in use.
    pub fn intern(&mut self, rule: &str, limit: Limit) -> Result<LimitId, LimitsFull> {
        self.intern_under(RuleRef::named(rule), limit)
    }

    /// As [`intern`](Engine::intern), under a rule of which more is known than its name.
    ///
    /// # Errors
    /// Too many limits or rules are in use.
    pub fn intern_under(&mut self, rule: RuleRef<'_>, limit: Limit) -> Result<LimitId, LimitsFull> {
        self.limits.intern(rule, limit)
    }

    /// Gives back what one [`intern`](Engine::intern) gave. The numbers stay while an entry uses them.
    ///
    /// # Panics
    /// If `id` was released as often as it was interned.
    pub fn release(&mut self, id: LimitId) {
        self.limits.release(id);
    }

    /// Asks for the memory that operations on these identities begin with, and does not wait for it.
    ///
    /// For a batch: hash all keys, call this, then decide. Some 64 entries fit the nearest cache.
    pub fn prefetch(&mut self, identities: &[Identity]) {
        self.table.prefetch(identities);
    }

    /// Moves the engine's time to `wall` unless it is already later, and says what it is now.
    ///
    /// Every operation does this with its `now`: a key's time never goes back, whatever the clock does.
    pub fn advance(&mut self, wall: Timestamp) -> Timestamp {
        self.latest = self.latest.max(wall);
        self.latest
    }

    /// Decides one call and charges it.
    ///
    /// # Errors
    /// The call would be allowed but needs a new entry, and there is no room.
    pub fn check(&mut self, now: Timestamp, identity: Identity, limit: LimitId, ask: Ask) -> Result<Decision, Full> {
        let now = self.advance(now);
        with_counter!(self.limits.get(limit).algorithm(), C => self.check_as::<C>(now, identity, limit, ask))
    }

    /// Hands over as many whole units as there are above `keep`, up to `cost`.
    ///
    /// # Errors
    /// Units would be handed over but need a new entry, and there is no room.
    pub fn take(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        cost: u64,
        keep: u64,
    ) -> Result<Grant, Full> {
        let now = self.advance(now);
        let grant = self.with_room(|engine| engine.take_once(now, identity, limit, cost, keep));
        if cost > 0 {
            self.limits.count(limit, Outcome::of_call(&grant, |grant| grant.granted > 0));
        }
        grant
    }

    /// Gives units back, never past full, and answers as a peek.
    ///
    /// With the instant of the charge they go back where they were charged, if that still counts.
    pub fn refund(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        cost: u64,
        charged_at: Option<Timestamp>,
    ) -> Decision {
        let now = self.advance(now);
        let mut standing = self.stand::<AnyCounter>(now, identity, limit);
        if cost > 0 {
            standing.counter.refund(cost, charged_at);
        }
        let decision = algorithm::decide(&mut standing.counter, Ask::PEEK).decision;
        self.conclude(standing, if cost > 0 { Effect::Refunded } else { Effect::Nothing });
        decision
    }

    /// Forgets an entry and its reservations, which would give back what is given back already: its key has its whole
    /// budget again. Says whether there was something to forget.
    ///
    /// State belongs to (key, algorithm): to clear a key, call this for each algorithm's identity.
    pub fn reset(&mut self, now: Timestamp, identity: Identity) -> bool {
        let now = self.advance(now);
        let was_reserved = self.end_reservations_of(identity, now);
        let Some(Found { no, .. }) = self.table.find(identity) else { return was_reserved };
        let live = !self.is_whole(no, now);
        self.outflow.note(Name::Counter(identity), 0);
        self.remove(no);
        live || was_reserved
    }

    /// Forgets what is whole again or has expired, looking at up to `entries_max` entries and as many reservations; says
    /// how many entries it forgot.
    ///
    /// No decision depends on when this runs: it frees memory. Call it a bounded share at a time, every turn.
    pub fn expire(&mut self, now: Timestamp, entries_max: usize) -> usize {
        let now = self.advance(now);
        let reservations = (0..entries_max).map_while(|_| self.expire_reservation(now));
        reservations.for_each(drop);
        let mut forgotten = 0;
        for looked_at in 0..entries_max {
            if looked_at % EXPIRIES_AHEAD == 0 {
                self.table.prefetch_removals(self.wheel.coming(&self.table.arena).take(EXPIRIES_AHEAD));
            }
            match self.expire_entry(now) {
                Some(expired) => forgotten += usize::from(expired == Expired::Forgotten),
                None => break,
            }
        }
        forgotten
    }

    /// How far [`expire`](Engine::expire) is behind, in microseconds: the age of the oldest instant at which something may
    /// have become whole again and has not been looked at.
    pub fn expiry_lag_us(&self) -> u64 {
        self.wheel.lag_us(self.latest.as_micros())
    }

    /// Entries held, those included that are whole again and not yet dropped.
    pub fn keys(&self) -> usize {
        self.table.len()
    }

    /// Bytes held, as the allocator sees them.
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.side.bytes() + self.reservations.bytes() + self.limits.bytes() + self.outflow.bytes()
    }

    /// Limits in use.
    pub fn limits(&self) -> usize {
        self.limits.len()
    }

    /// Decisions by rule and outcome, in the order of the rules' names.
    pub fn rule_counts(&self) -> impl Iterator<Item = RuleCounts<'_>> {
        self.limits.counts()
    }

    /// The hot path: one pass, and no copy of the decision on the way out.
    fn check_as<C: Counter>(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        ask: Ask,
    ) -> Result<Decision, Full> {
        let mut standing = self.stand::<C>(now, identity, limit);
        let Verdict { decision, charged } = algorithm::decide(&mut standing.counter, ask);
        if self.conclude_charge(now, standing, ask.cost, charged).is_err() {
            return self.check_without_room::<C>(now, identity, limit, ask);
        }
        if !ask.is_peek() {
            self.limits.count(limit, Outcome::of(decision.allowed));
        }
        Ok(decision)
    }

    /// Decides again if fresh state could be dropped; else the call is refused for want of room.
    #[cold]
    fn check_without_room<C: Counter>(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        ask: Ask,
    ) -> Result<Decision, Full> {
        let answer = if self.drop_fresh() { self.check_once::<C>(now, identity, limit, ask) } else { Err(Full) };
        self.limits.count(limit, Outcome::of_call(&answer, |decision| decision.allowed));
        answer
    }

    fn check_once<C: Counter>(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        ask: Ask,
    ) -> Result<Decision, Full> {
        let mut standing = self.stand::<C>(now, identity, limit);
        let Verdict { decision, charged } = algorithm::decide(&mut standing.counter, ask);
        self.conclude_charge(now, standing, ask.cost, charged)?;
        Ok(decision)
    }

    fn take_once(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        cost: u64,
        keep: u64,
    ) -> Result<Grant, Full> {
        let mut standing = self.stand::<AnyCounter>(now, identity, limit);
        let counter = &mut standing.counter;
        let granted = counter.remaining().saturating_sub(keep).min(cost);
        if granted > 0 {
            counter.charge(granted);
        }
        let grant = Grant { granted, remaining: counter.remaining(), reset_after_us: counter.wait_until_whole() };
        self.conclude_charge(now, standing, cost, granted)?;
        Ok(grant)
    }
}

#[cfg(test)]
mod tests;
