//! The deny cache: "denied until then" stays true without asking again; "allowed" does not, so only refusals are kept.
//!
//! An entry says that under one limit one key was refused a *need*, the cost and what had to remain of it. It answers
//! only calls that need at least as much: a refused big call says nothing about a small one.
//!
//! What makes a refusal untrue before its time is a refund, a settle or a reset. Those of this gateway cancel the entry;
//! those of others are not seen here, so that no entry is older than [`STALE_US_MAX`].
//!
//! Invariants:
//! - Memory is fixed: a full set forgets the entry that ends first. Forgetting costs a question, never a wrong answer.
//! - Entries are known by 64 bits of a hash under a secret key, and by the version of their limit's handle: another
//!   version of a rule has other numbers and answers nothing.
//!
//! Not here: which decisions may be kept (`limiter`): never one of slots, nor one that the store did not decide.

use parking_lot::Mutex;
use tallyring_engine::{Ask, Timestamp};

/// The longest that a refusal is believed, in microseconds: a budget that another gateway gives back is found so soon.
pub(crate) const STALE_US_MAX: u64 = 1_000_000;

/// Entries of one set: a key may be anywhere in its own.
const WAYS: usize = 4;

/// Sets, a power of two. With four entries of a cache line each they take half a megabyte.
const SETS: usize = 2_048;

/// "No wait helps", where an instant is expected.
const NEVER_US: u64 = u64::MAX;

/// Refusals of the last second. See the module's text.
#[derive(Debug)]
pub(crate) struct DenyCache {
    sets: Box<[Mutex<Set>]>,
}

type Set = [Entry; WAYS];

/// Whose refusal it is, and under which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The key's keyed hash, under its algorithm.
    pub(crate) identity: u64,
    /// The version of the limit's handle; never 0.
    pub(crate) version: u32,
}

/// A refusal and how long it lasts, in microseconds from the instant at which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The smallest wait that helps; `None` = none.
    pub(crate) retry_after_us: Option<u64>,
    /// The smallest wait after which the whole budget is back.
    pub(crate) reset_after_us: u64,
    /// Units that were left.
    pub(crate) remaining: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    identity: u64,
    /// 0: nothing here.
    version: u32,
    /// What was refused: cost and keep together.
    need: u64,
    /// When it is believed no more.
    ends_us: u64,
    retry_at_us: u64,
    reset_at_us: u64,
    remaining: u64,
}

impl Entry {
    const EMPTY: Entry =
        Entry { identity: 0, version: 0, need: 0, ends_us: 0, retry_at_us: 0, reset_at_us: 0, remaining: 0 };

    fn new(now_us: u64, whose: Refused, need: u64, refusal: &Refusal) -> Entry {
        let retry_at_us = refusal.retry_after_us.map_or(NEVER_US, |wait_us| now_us.saturating_add(wait_us));
        Entry {
            identity: whose.identity,
            version: whose.version,
            need,
            ends_us: retry_at_us.min(now_us.saturating_add(STALE_US_MAX)),
            retry_at_us,
            reset_at_us: now_us.saturating_add(refusal.reset_after_us),
            remaining: refusal.remaining,
        }
    }

    fn is_of(&self, whose: Refused) -> bool {
        self.identity == whose.identity && self.version == whose.version
    }

    fn answers(&self, now_us: u64, whose: Refused, need: u64) -> bool {
        self.is_of(whose) && self.need <= need && now_us < self.ends_us
    }

    fn refusal(&self, now_us: u64) -> Refusal {
        Refusal {
            retry_after_us: (self.retry_at_us != NEVER_US).then(|| self.retry_at_us.saturating_sub(now_us)),
            reset_after_us: self.reset_at_us.saturating_sub(now_us),
            remaining: self.remaining,
        }
    }
}

impl DenyCache {
    /// An empty cache.
    pub(crate) fn new() -> DenyCache {
        DenyCache { sets: (0..SETS).map(|_| Mutex::new([Entry::EMPTY; WAYS])).collect() }
    }

    /// The refusal that still holds for this call: of those that needed no more, the one that needed most, since it
    /// knows the longest wait.
    #[inline]
    pub(crate) fn look_up(&self, now: Timestamp, whose: Refused, ask: Ask) -> Option<Refusal> {
        let need = need(ask)?;
        let now_us = now.as_micros();
        let set = self.set(whose.identity).lock();
        let found = set.iter().filter(|entry| entry.answers(now_us, whose, need)).max_by_key(|entry| entry.need)?;
        Some(found.refusal(now_us))
    }

    /// Keeps what the store has just refused.
    pub(crate) fn keep(&self, now: Timestamp, whose: Refused, ask: Ask, refusal: &Refusal) {
        let Some(need) = need(ask) else { return };
        let entry = Entry::new(now.as_micros(), whose, need, refusal);
        let mut set = self.set(whose.identity).lock();
        let place = set.iter().position(|old| old.is_of(whose) && old.need == need);
        let place = place.unwrap_or_else(|| first_to_end(&set));
        set[place] = entry;
    }

    /// Forgets every refusal of a key: this gateway has given something back.
    pub(crate) fn cancel(&self, identity: u64) {
        let mut set = self.set(identity).lock();
        set.iter_mut().filter(|entry| entry.identity == identity).for_each(|entry| *entry = Entry::EMPTY);
    }

    fn set(&self, identity: u64) -> &Mutex<Set> {
        // The low bits: the fallback picks its places by others.
        &self.sets[identity as usize % SETS]
    }
}

/// What a call needs of the budget; `None` if it is not refused whatever is left.
fn need(ask: Ask) -> Option<u64> {
    (!ask.force).then(|| ask.cost.saturating_add(ask.keep)).filter(|need| *need > 0)
}

fn first_to_end(set: &Set) -> usize {
    let ends = set.iter().enumerate().min_by_key(|(_, entry)| entry.ends_us);
    ends.map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: u64 = 1_600_000_000_000_000;
    const KEY: Refused = Refused { identity: 7, version: 1 };

    fn at(us: u64) -> Timestamp {
        Timestamp::from_micros(NOW_US + us)
    }

    fn refusal(retry_after_us: Option<u64>) -> Refusal {
        Refusal { retry_after_us, reset_after_us: 9_000_000, remaining: 2 }
    }

    fn refused(cost: u64, retry_after_us: u64) -> DenyCache {
        let cache = DenyCache::new();
        cache.keep(at(0), KEY, Ask::new(cost), &refusal(Some(retry_after_us)));
        cache
    }

    /// The wait that a call of this cost is told at `us`; `None` if the store has to be asked.
    fn check(cache: &DenyCache, us: u64, whose: Refused, cost: u64, wait_us: Option<u64>) {
        let found = cache.look_up(at(us), whose, Ask::new(cost));
        assert_eq!(found.map(|refusal| refusal.retry_after_us.unwrap()), wait_us, "cost {cost} after {us} us");
    }

    /// Case client-deny-02.
    #[test]
    fn a_refused_big_call_says_nothing_about_a_small_one() {
        let cache = refused(5, 3_000_000);
        check(&cache, 0, KEY, 1, None);
        check(&cache, 0, KEY, 4, None);
        check(&cache, 0, KEY, 5, Some(3_000_000));
        check(&cache, 0, KEY, 6, Some(3_000_000));
    }

    #[test]
    fn the_wait_shrinks_as_time_passes() {
        let cache = refused(1, 3_000_000);
        check(&cache, 400_000, KEY, 1, Some(2_600_000));
        assert_eq!(cache.look_up(at(400_000), KEY, Ask::new(1)).unwrap().reset_after_us, 8_600_000);
    }

    #[test]
    fn a_refusal_is_believed_for_a_second_at_most_and_never_past_its_own_end() {
        check(&refused(1, 3_000_000), STALE_US_MAX - 1, KEY, 1, Some(2_000_001));
        check(&refused(1, 3_000_000), STALE_US_MAX, KEY, 1, None);
        check(&refused(1, 500), 499, KEY, 1, Some(1));
        check(&refused(1, 500), 500, KEY, 1, None);
    }

    #[test]
    fn what_no_wait_helps_is_believed_for_a_second_too() {
        let cache = DenyCache::new();
        cache.keep(at(0), KEY, Ask::new(11), &refusal(None));
        assert_eq!(cache.look_up(at(999_999), KEY, Ask::new(11)).unwrap().retry_after_us, None);
        assert_eq!(cache.look_up(at(1_000_000), KEY, Ask::new(11)), None);
    }

    #[test]
    fn of_two_refusals_the_one_that_needed_more_knows_the_longer_wait() {
        let cache = refused(5, 3_000_000);
        cache.keep(at(0), KEY, Ask::new(1), &refusal(Some(600_000)));
        check(&cache, 0, KEY, 1, Some(600_000));
        check(&cache, 0, KEY, 4, Some(600_000));
        check(&cache, 0, KEY, 5, Some(3_000_000));
    }

    #[test]
    fn what_has_to_remain_counts_as_needed() {
        let cache = DenyCache::new();
        let sheddable = Ask { keep: 4, ..Ask::new(1) };
        cache.keep(at(0), KEY, sheddable, &refusal(Some(100)));
        check(&cache, 0, KEY, 1, None);
        check(&cache, 0, KEY, 5, Some(100));
        assert!(cache.look_up(at(0), KEY, sheddable).is_some());
    }

    #[test]
    fn a_forced_call_and_a_peek_are_never_refused() {
        let cache = refused(1, 3_000_000);
        assert_eq!(cache.look_up(at(0), KEY, Ask { force: true, ..Ask::new(5) }), None);
        assert_eq!(cache.look_up(at(0), KEY, Ask::PEEK), None);
    }

    #[test]
    fn another_version_of_the_limit_and_another_key_know_nothing_of_it() {
        let cache = refused(1, 3_000_000);
        check(&cache, 0, Refused { version: 2, ..KEY }, 1, None);
        check(&cache, 0, Refused { identity: KEY.identity + SETS as u64, ..KEY }, 1, None);
    }

    /// Case client-deny-04.
    #[test]
    fn what_is_given_back_here_is_seen_at_once() {
        let cache = refused(1, 3_000_000);
        cache.keep(at(0), KEY, Ask::new(5), &refusal(Some(600_000)));
        cache.cancel(KEY.identity);
        check(&cache, 0, KEY, 5, None);
    }

    #[test]
    fn a_full_set_forgets_what_ends_first() {
        let cache = DenyCache::new();
        let whose = |n: u64| Refused { identity: n * SETS as u64, version: 1 };
        (0..5).for_each(|n| cache.keep(at(0), whose(n), Ask::new(1), &refusal(Some(500 + n))));
        check(&cache, 0, whose(0), 1, None);
        (1..5).for_each(|n| check(&cache, 0, whose(n), 1, Some(500 + n)));
    }
}
