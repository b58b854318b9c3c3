//! The fallback: while the store is gone, this gateway decides alone, within its share of the limit.
//!
//! The arithmetic is the store's own, on a smaller limit. It is kept warm: what the store allows is charged here too, so
//! that a customer who has used up the budget does not get a fresh one at the moment the store goes.
//!
//! Invariants:
//! - Memory is bounded. Keys beyond it share one bucket: a spray of keys gets neither memory nor a free pass.
//! - A share is never nothing: each gateway admits at least one unit a period, whatever the limit is divided by.

mod share;

use parking_lot::Mutex;
use tallyring_engine::{Ask, Bounds, Decision, Engine, Full, Identity, Limit, LimitId, Timestamp};
use tallyring_protocol::{IdentityHasher, IdentityKey, KeyRef};

pub(crate) use self::share::share;
use crate::definition::algorithm_code;

/// Engines, each behind its own lock, so that concurrent callers rarely meet.
const PARTS: usize = 4;

/// Old entries looked at in each call: at least as many are forgotten as a call can add.
const EXPIRIES_PER_CALL_MAX: usize = 2;

/// The least memory that a part is given, in bytes: an engine takes its entries from the allocator 16,384 at a time.
const PART_BYTES_MIN: usize = 1 << 20;

/// A local copy of a limit's counters.
#[derive(Debug)]
pub(crate) struct Fallback {
    limit: Limit,
    hasher: IdentityHasher,
    parts: [Mutex<Part>; PARTS],
    /// One bucket for all keys that the parts have no room for.
    overflow: Mutex<Part>,
}

/// An engine and the share that its entries are counted under.
#[derive(Debug)]
struct Part {
    engine: Engine,
    share: Option<Share>,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    gateways: u32,
    limit: LimitId,
}

impl Fallback {
    /// A fallback for `limit` that holds at most about `bytes_max` bytes. `secret` keeps outsiders from choosing keys
    /// that share a counter.
    pub(crate) fn new(limit: Limit, bytes_max: usize, secret: [u8; 16]) -> Fallback {
        let bytes = (bytes_max / PARTS).max(PART_BYTES_MIN);
        Fallback {
            limit,
            hasher: IdentityHasher::new(IdentityKey(secret)),
            parts: std::array::from_fn(|_| Mutex::new(Part::new(bytes))),
            overflow: Mutex::new(Part::new(PART_BYTES_MIN)),
        }
    }

    /// Decides, as one of so many gateways.
    pub(crate) fn check(&self, now: Timestamp, key: KeyRef<'_>, ask: Ask, gateways: u32) -> Decision {
        let identity = self.identity(key);
        let decided = self.part(identity).lock().check(now, identity, ask, self.limit, gateways);
        decided.unwrap_or_else(|Full| self.check_overflow(now, ask, gateways))
    }

    /// Charges what the store allowed, as far as there is a share to charge.
    pub(crate) fn charge(&self, now: Timestamp, key: KeyRef<'_>, cost: u64, gateways: u32) {
        let identity = self.identity(key);
        let ask = Ask { cost, keep: 0, force: true };
        // No room is no harm: should the store go, this key is one of those that share a bucket.
        let _ = self.part(identity).lock().check(now, identity, ask, self.limit, gateways);
    }

    /// Gives units back.
    pub(crate) fn refund(&self, now: Timestamp, key: KeyRef<'_>, cost: u64, gateways: u32) {
        let identity = self.identity(key);
        let mut part = self.part(identity).lock();
        let share = part.share(self.limit, gateways);
        part.engine.refund(now, identity, share, cost, None);
    }

    fn check_overflow(&self, now: Timestamp, ask: Ask, gateways: u32) -> Decision {
        let everybody = Identity { placement: 0, identity: 0 };
        let decided = self.overflow.lock().check(now, everybody, ask, self.limit, gateways);
        decided.expect("one key fits an engine of its own")
    }

    fn identity(&self, key: KeyRef<'_>) -> Identity {
        let identity = self.hasher.identity(key, algorithm_code(self.limit.algorithm()));
        Identity { placement: identity, identity }
    }

    fn part(&self, identity: Identity) -> &Mutex<Part> {
        // Bits from the middle: the table picks its places by the ends.
        &self.parts[(identity.identity >> 28) as usize % PARTS]
    }
}

impl Part {
    fn new(bytes_max: usize) -> Part {
        let bounds = Bounds { rule_keys_max: usize::MAX, ..Bounds::of_bytes(bytes_max) };
        Part { engine: Engine::new(bounds), share: None }
    }

    fn check(
        &mut self,
        now: Timestamp,
        identity: Identity,
        ask: Ask,
        limit: Limit,
        gateways: u32,
    ) -> Result<Decision, Full> {
        let share = self.share(limit, gateways);
        self.engine.expire(now, EXPIRIES_PER_CALL_MAX);
        self.engine.check(now, identity, share, ask)
    }

    /// The limit's share among so many; what was used under another share is carried over by the engine.
    fn share(&mut self, limit: Limit, gateways: u32) -> LimitId {
        match self.share {
            Some(share) if share.gateways == gateways => share.limit,
            before => {
                let id = self.engine.intern("", share(limit, gateways)).expect("two limits at a time fit");
                before.into_iter().for_each(|before| self.engine.release(before.limit));
                self.share = Some(Share { gateways, limit: id });
                id
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallyring_engine::{Algorithm, Period};
    use tallyring_protocol::Key;

    const SECOND_US: u64 = 1_000_000;

    /// More keys than the smallest fallback holds.
    const KEYS_TOO_MANY: usize = 80_000;

    fn fallback(units: u64) -> Fallback {
        let limit = Limit::new(Algorithm::TokenBucket, units, Period::Micros(60 * SECOND_US), None).unwrap();
        Fallback::new(limit, 0, [1; 16])
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(1_600_000_000_000_000 + seconds * SECOND_US)
    }

    /// How many of `calls` calls of cost 1 pass.
    fn admitted(fallback: &Fallback, key: &str, calls: u32, gateways: u32) -> u32 {
        let key = Key::raw(key.as_bytes()).unwrap();
        let passes = |_: &u32| fallback.check(at(0), key.as_ref(), Ask::new(1), gateways).allowed;
        u32::try_from((0..calls).filter(passes).count()).unwrap()
    }

    #[test]
    fn a_gateway_admits_its_share() {
        assert_eq!(admitted(&fallback(12), "k", 20, 1), 12);
        assert_eq!(admitted(&fallback(12), "k", 20, 4), 3);
        assert_eq!(admitted(&fallback(12), "k", 20, 100), 1);
    }

    #[test]
    fn what_the_store_allowed_is_used_up_here_too() {
        let fallback = fallback(12);
        let key = Key::raw(b"k").unwrap();
        (0..2).for_each(|_| fallback.charge(at(0), key.as_ref(), 1, 4));
        assert_eq!(admitted(&fallback, "k", 20, 4), 1);
        assert_eq!(admitted(&fallback, "other", 20, 4), 3);
    }

    #[test]
    fn more_than_the_share_may_be_charged_and_leaves_nothing() {
        let fallback = fallback(12);
        fallback.charge(at(0), Key::raw(b"k").unwrap().as_ref(), 1_000, 4);
        assert_eq!(admitted(&fallback, "k", 20, 4), 0);
    }

    #[test]
    fn units_given_back_can_be_used_again() {
        let fallback = fallback(12);
        assert_eq!(admitted(&fallback, "k", 20, 4), 3);
        fallback.refund(at(0), Key::raw(b"k").unwrap().as_ref(), 2, 4);
        assert_eq!(admitted(&fallback, "k", 20, 4), 2);
    }

    #[test]
    fn when_gateways_leave_the_share_grows_without_forgetting_what_was_used() {
        let fallback = fallback(12);
        assert_eq!(admitted(&fallback, "k", 20, 4), 3);
        let decision = fallback.check(at(30), Key::raw(b"k").unwrap().as_ref(), Ask::PEEK, 2);
        assert!(decision.remaining < decision.limit, "{decision:?}");
        assert_eq!(decision.limit, 6);
    }

    #[test]
    fn keys_beyond_the_memory_share_one_bucket() {
        let fallback = fallback(10);
        let first_calls = (0..KEYS_TOO_MANY).filter(|n| admitted(&fallback, &format!("key {n}"), 1, 1) == 1).count();
        assert!((KEYS_TOO_MANY / 2..KEYS_TOO_MANY - 1_000).contains(&first_calls), "{first_calls} admitted");
        assert_eq!(admitted(&fallback, "one more", 1, 1), 0);
    }

    #[test]
    fn old_keys_make_room_for_new_ones() {
        let fallback = fallback(10);
        (0..KEYS_TOO_MANY).for_each(|n| {
            admitted(&fallback, &format!("key {n}"), 1, 1);
        });
        let newcomer = |n: u32| Key::raw(format!("newcomer {n}").as_bytes()).unwrap();
        let passes = |n: &u32| fallback.check(at(3_600), newcomer(*n).as_ref(), Ask::new(1), 1).allowed;
        assert_eq!((0..1_000).filter(passes).count(), 1_000);
    }
}
