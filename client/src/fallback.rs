//! The fallback: while the store is gone, this gateway decides alone, within its share of each limit.
//!
//! The arithmetic is the store's own, on smaller limits. It is kept warm: what the store allows is charged here too, so
//! that a customer who has used up the budget does not get a fresh one at the moment the store goes. A key names its
//! rule, so one set of counters serves all rules, and outlives every new version of them.
//!
//! Invariants:
//! - Memory is bounded, for all rules together. Keys beyond it share one bucket a rule: a spray of keys gets neither
//!   memory nor a free pass, and one rule's keys fill at most half.
//! - A share is never nothing: each gateway admits at least one unit a period, whatever the limit is divided by.

mod share;

use parking_lot::Mutex;
use tallyring_engine::{Ask, Bounds, Decision, Engine, Full, Identity, LimitId, Slots, Timestamp, Wait};

pub(crate) use self::share::{period_us, share};
use crate::definition::LimitHandle;

/// Engines, each behind its own lock, so that concurrent callers rarely meet.
const PARTS: usize = 4;

/// Old entries looked at in each call: at least as many are forgotten as a call can add.
const EXPIRIES_PER_CALL_MAX: usize = 2;

/// The least memory that a part is given, in bytes: an engine takes its entries from the allocator 16,384 at a time.
const PART_BYTES_MIN: usize = 1 << 20;

/// What a key is told that has neither room of its own nor any in its rule's shared bucket, in microseconds.
const NO_ROOM_RETRY_US: u128 = 1_000_000;

/// Local copies of the limits' counters.
#[derive(Debug)]
pub(crate) struct Fallback {
    parts: [Mutex<Part>; PARTS],
    /// One bucket a rule for all of its keys that the parts have no room for.
    overflow: Mutex<Part>,
}

/// How much of a limit is this gateway's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Portion {
    /// Its share.
    Share,
    /// All of it.
    Whole,
}

/// An engine and the shares that its entries are counted under.
#[derive(Debug)]
struct Part {
    portion: Portion,
    engine: Engine,
    /// By the number of the limit's handle.
    shares: Vec<Option<Share>>,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    version: u32,
    gateways: u32,
    limit: LimitId,
}

/// Whose budget, under which limit, as one of how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whose<'a> {
    /// The whole limit; for slots too.
    pub(crate) limit: &'a LimitHandle,
    /// The key's keyed hash, under its algorithm.
    pub(crate) identity: u64,
    /// Gateways that share the limit.
    pub(crate) gateways: u32,
}

impl Fallback {
    /// A fallback that holds at most about `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Fallback {
        Fallback::of(Portion::Share, bytes_max)
    }

    /// Counters of the same kind under whole limits, for the pre-filter.
    pub(crate) fn of_whole_limits(bytes_max: usize) -> Fallback {
        Fallback::of(Portion::Whole, bytes_max)
    }

    fn of(portion: Portion, bytes_max: usize) -> Fallback {
        let bytes = (bytes_max / PARTS).max(PART_BYTES_MIN);
        Fallback {
            parts: std::array::from_fn(|_| Mutex::new(Part::new(portion, bytes))),
            overflow: Mutex::new(Part::new(portion, PART_BYTES_MIN)),
        }
    }

    /// Decides.
    pub(crate) fn check(&self, now: Timestamp, whose: Whose<'_>, ask: Ask) -> Decision {
        let decided = self.part(whose).lock().check(now, whose, ask);
        decided.unwrap_or_else(|Full| self.check_overflow(now, whose, ask))
    }

    /// Says what would be decided of a key that has room of its own, or needs none.
    pub(crate) fn look(&self, now: Timestamp, whose: Whose<'_>, ask: Ask) -> Decision {
        debug_assert!(ask.is_peek(), "looking charges nothing");
        self.part(whose).lock().check(now, whose, ask).expect("a peek needs no room")
    }

    /// Charges what the store allowed, as far as there is a share to charge.
    pub(crate) fn charge(&self, now: Timestamp, whose: Whose<'_>, cost: u64) {
        let ask = Ask { cost, keep: 0, force: true };
        // No room is no harm: should the store go, this key is one of those that share a bucket.
        let _ = self.part(whose).lock().check(now, whose, ask);
    }

    /// Gives units back.
    pub(crate) fn refund(&self, now: Timestamp, whose: Whose<'_>, cost: u64) {
        let mut part = self.part(whose).lock();
        let share = part.share(whose);
        part.engine.refund(now, identity(whose.identity), share, cost, None);
    }

    /// Forgets what was used.
    pub(crate) fn reset(&self, now: Timestamp, whose: Whose<'_>) {
        self.part(whose).lock().engine.reset(now, identity(whose.identity));
    }

    /// Holds `cost` slots for `holder`, a number that is drawn once, for at most `ttl_us`.
    ///
    /// # Errors
    /// There is no room to remember it.
    pub(crate) fn acquire(
        &self,
        now: Timestamp,
        whose: Whose<'_>,
        holder: u64,
        cost: u64,
        ttl_us: u64,
    ) -> Result<Slots, Full> {
        let mut part = self.part(whose).lock();
        let share = part.share(whose);
        part.engine.expire(now, EXPIRIES_PER_CALL_MAX);
        part.engine.acquire(now, identity(whose.identity), holder, share, cost, ttl_us)
    }

    /// Gives a holder's slots back.
    pub(crate) fn release(&self, now: Timestamp, key_identity: u64, holder: u64) {
        let mut part = self.part_of(key_identity).lock();
        part.engine.release_slot(now, identity(key_identity), holder);
    }

    fn check_overflow(&self, now: Timestamp, whose: Whose<'_>, ask: Ask) -> Decision {
        let everybody = Whose { identity: whose.limit.handle().into(), ..whose };
        let decided = self.overflow.lock().check(now, everybody, ask);
        decided.unwrap_or_else(|Full| no_room(whose, ask))
    }

    fn part(&self, whose: Whose<'_>) -> &Mutex<Part> {
        self.part_of(whose.identity)
    }

    fn part_of(&self, identity: u64) -> &Mutex<Part> {
        // Bits from the middle: the table picks its places by the ends.
        &self.parts[(identity >> 28) as usize % PARTS]
    }
}

impl Part {
    fn new(portion: Portion, bytes_max: usize) -> Part {
        Part { portion, engine: Engine::new(Bounds::of_bytes(bytes_max)), shares: Vec::new() }
    }

    fn check(&mut self, now: Timestamp, whose: Whose<'_>, ask: Ask) -> Result<Decision, Full> {
        let share = self.share(whose);
        self.engine.expire(now, EXPIRIES_PER_CALL_MAX);
        self.engine.check(now, identity(whose.identity), share, ask)
    }

    /// The limit's share among so many; what was used under another share is carried over by the engine.
    fn share(&mut self, whose: Whose<'_>) -> LimitId {
        let number = usize::from(whose.limit.handle());
        if self.shares.len() <= number {
            self.shares.resize(number + 1, None);
        }
        match self.shares[number] {
            Some(share) if share.version == whose.limit.version() && share.gateways == whose.gateways => share.limit,
            before => {
                let limit = self.intern(whose);
                before.into_iter().for_each(|before| self.engine.release(before.limit));
                let Whose { gateways, .. } = whose;
                self.shares[number] = Some(Share { version: whose.limit.version(), gateways, limit });
                limit
            }
        }
    }

    fn intern(&mut self, whose: Whose<'_>) -> LimitId {
        let definition = whose.limit.definition();
        let limit = match self.portion {
            Portion::Share => share(definition.limit, whose.gateways),
            Portion::Whole => definition.limit,
        };
        self.engine.intern(&definition.rule, limit).expect("an engine has room for more limits than there are handles")
    }
}

fn identity(identity: u64) -> Identity {
    Identity { placement: identity, identity }
}

fn no_room(whose: Whose<'_>, ask: Ask) -> Decision {
    Decision {
        allowed: ask.force,
        limit: share(whose.limit.definition().limit, whose.gateways).ceiling(),
        remaining: 0,
        retry_after: if ask.force { Wait::NOW } else { Wait::Micros(NO_ROOM_RETRY_US) },
        reset_after_us: NO_ROOM_RETRY_US,
        charged: ask.force.then_some(0),
        delay_us: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::definition::{Definition, Handles};
    use tallyring_engine::{Algorithm, Limit, Period};

    const SECOND_US: u64 = 1_000_000;

    /// More keys than the smallest fallback holds.
    const KEYS_TOO_MANY: u64 = 80_000;

    const KEY: u64 = 1 << 40;

    struct Rig {
        fallback: Fallback,
        handles: Arc<Handles>,
        limit: LimitHandle,
    }

    fn define(handles: &Arc<Handles>, rule: &str, units: u64) -> LimitHandle {
        let limit = Limit::new(Algorithm::TokenBucket, units, Period::Micros(60 * SECOND_US), None).unwrap();
        handles.get(Definition { rule: rule.to_owned(), ..limit.into() }).unwrap()
    }

    fn rig(units: u64) -> Rig {
        let handles = Arc::<Handles>::default();
        Rig { fallback: Fallback::new(0), limit: define(&handles, "rule", units), handles }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(1_600_000_000_000_000 + seconds * SECOND_US)
    }

    impl Rig {
        fn whose(&self, key: u64, gateways: u32) -> Whose<'_> {
            Whose { limit: &self.limit, identity: scatter(key), gateways }
        }

        /// How many of `calls` calls of cost 1 pass.
        fn admitted(&self, key: u64, calls: u32, gateways: u32) -> u32 {
            let passes = |_: &u32| self.fallback.check(at(0), self.whose(key, gateways), Ask::new(1)).allowed;
            u32::try_from((0..calls).filter(passes).count()).unwrap()
        }
    }

    /// As a hash does.
    fn scatter(key: u64) -> u64 {
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (key >> 7)
    }

    /// Case client-fall-02: 100 and 2 a minute, among 4 gateways.
    #[test]
    fn a_gateway_admits_its_share() {
        assert_eq!(rig(100).admitted(KEY, 200, 4), 25);
        assert_eq!(rig(2).admitted(KEY, 20, 4), 1);
        assert_eq!(rig(12).admitted(KEY, 20, 1), 12);
        assert_eq!(rig(12).admitted(KEY, 20, 100), 1);
    }

    #[test]
    fn what_the_store_allowed_is_used_up_here_too() {
        let rig = rig(12);
        (0..2).for_each(|_| rig.fallback.charge(at(0), rig.whose(KEY, 4), 1));
        assert_eq!(rig.admitted(KEY, 20, 4), 1);
        assert_eq!(rig.admitted(KEY + 1, 20, 4), 3);
    }

    #[test]
    fn more_than_the_share_may_be_charged_and_leaves_nothing() {
        let rig = rig(12);
        rig.fallback.charge(at(0), rig.whose(KEY, 4), 1_000);
        assert_eq!(rig.admitted(KEY, 20, 4), 0);
    }

    #[test]
    fn units_given_back_can_be_used_again() {
        let rig = rig(12);
        assert_eq!(rig.admitted(KEY, 20, 4), 3);
        rig.fallback.refund(at(0), rig.whose(KEY, 4), 2);
        assert_eq!(rig.admitted(KEY, 20, 4), 2);
        rig.fallback.reset(at(0), rig.whose(KEY, 4));
        assert_eq!(rig.admitted(KEY, 20, 4), 3);
    }

    #[test]
    fn when_gateways_leave_the_share_grows_without_forgetting_what_was_used() {
        let rig = rig(12);
        assert_eq!(rig.admitted(KEY, 20, 4), 3);
        let decision = rig.fallback.check(at(30), rig.whose(KEY, 2), Ask::PEEK);
        assert!(decision.remaining < decision.limit, "{decision:?}");
        assert_eq!(decision.limit, 6);
    }

    #[test]
    fn a_rule_with_new_numbers_goes_on_from_what_was_used() {
        let mut rig = rig(12);
        assert_eq!(rig.admitted(KEY, 9, 1), 9);
        rig.limit = define(&rig.handles, "rule", 5);
        assert_eq!(rig.admitted(KEY, 9, 1), 3, "the level is kept, and cut to the new ceiling");
    }

    #[test]
    fn a_number_that_another_rule_had_before_is_another_limit() {
        let Rig { fallback, handles, limit } = rig(12);
        let first = Rig { fallback, handles: Arc::clone(&handles), limit };
        assert_eq!(first.admitted(KEY, 20, 1), 12);
        let Rig { fallback, limit, .. } = first;
        drop(limit);
        let second = Rig { fallback, limit: define(&handles, "other", 30), handles };
        assert_eq!(second.admitted(KEY + 1, 50, 1), 30);
    }

    #[test]
    fn keys_beyond_the_memory_share_one_bucket() {
        let rig = rig(10);
        let first_calls = (0..KEYS_TOO_MANY).filter(|n| rig.admitted(*n, 1, 1) == 1).count() as u64;
        assert!((KEYS_TOO_MANY / 4..KEYS_TOO_MANY - 1_000).contains(&first_calls), "{first_calls} admitted");
        assert_eq!(rig.admitted(KEYS_TOO_MANY + 1, 1, 1), 0);
    }

    #[test]
    fn a_spray_of_keys_under_one_rule_leaves_room_for_another() {
        let mut rig = rig(10);
        (0..KEYS_TOO_MANY).for_each(|n| {
            rig.admitted(n, 1, 1);
        });
        rig.limit = define(&rig.handles, "other", 10);
        assert_eq!((0..100).filter(|n| rig.admitted(KEY + n, 1, 1) == 1).count(), 100);
    }

    #[test]
    fn old_keys_make_room_for_new_ones() {
        let rig = rig(10);
        (0..KEYS_TOO_MANY).for_each(|n| {
            rig.admitted(n, 1, 1);
        });
        let passes = |n: &u64| rig.fallback.check(at(3_600), rig.whose(KEY + n, 1), Ask::new(1)).allowed;
        assert_eq!((0..1_000).filter(passes).count(), 1_000);
    }

    #[test]
    fn slots_are_shared_like_units_and_come_back() {
        let handles = Arc::<Handles>::default();
        let slots = Limit::new(Algorithm::Concurrency, 8, Period::Micros(7_200 * SECOND_US), None).unwrap();
        let rig = Rig { fallback: Fallback::new(0), limit: handles.get(slots.into()).unwrap(), handles };
        let acquire = |holder| {
            let slots = rig.fallback.acquire(at(0), rig.whose(KEY, 4), holder, 1, 60 * SECOND_US);
            slots.unwrap().allowed
        };
        assert_eq!([1, 2, 3].map(acquire), [true, true, false]);
        rig.fallback.release(at(0), scatter(KEY), 1);
        assert_eq!([4, 5].map(acquire), [true, false]);
    }
}
