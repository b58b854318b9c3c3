//! Grants: units of a hot key that were taken from the store ahead of time, to be spent here without asking.
//!
//! For rules that ask for it: one question then serves many calls. The price is exactness. Units that are held here are
//! spent a little later than they were counted, so over any window a rule may admit as much too much as the grants that
//! are outstanding, a number that is exported ([`Grants::outstanding`]).
//!
//! Invariants:
//! - A grant ends with the window that it was counted in, and at latest after a tenth of the period or
//!   [`LIFETIME_US_MAX`]. What is left then is not given back: the store counts too much rather than too little.
//! - One caller at a time takes for a key; the others ask the store as if there were no grants.
//! - At most [`POOLS_MAX`] keys of a rule have a grant; any other key's calls ask the store.

use parking_lot::Mutex;
use tallyring_engine::{Algorithm, Limit, Period, Timestamp};

use crate::StoreGrant;
use crate::fallback::period_us;
use crate::identities::Identities;

/// The longest that a grant is spent, in microseconds.
pub(crate) const LIFETIME_US_MAX: u64 = 1_000_000;

/// The part of a period that a grant lasts at most.
const LIFETIME_DIVISOR: u64 = 10;

/// Keys of one rule that have a grant at the same time.
pub(crate) const POOLS_MAX: usize = 1_024;

/// The grants of one rule's keys.
#[derive(Debug)]
pub(crate) struct Grants {
    limit: Limit,
    units: u64,
    pools: Mutex<Identities<Pool>>,
}

/// One key's grant.
#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    left: u64,
    ends_us: u64,
    /// While somebody takes: until when the others leave it alone.
    taking_until_us: u64,
    /// Units that were left in the store.
    remaining: u64,
    reset_at_us: u64,
}

/// What is left after a call that was paid out of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Units: in the store when the grant was taken, and of the grant now.
    pub(crate) remaining: u64,
    /// The smallest wait after which the whole budget is back, in microseconds.
    pub(crate) reset_after_us: u64,
}

impl Grants {
    /// Grants of `units` at a time, under this limit.
    pub(crate) fn new(limit: Limit, units: u64) -> Grants {
        Grants { limit, units, pools: Mutex::default() }
    }

    /// Units to take for a call of this cost.
    pub(crate) fn units_for(&self, cost: u64) -> u64 {
        self.units.max(cost)
    }

    /// Pays `cost` out of a key's grant, if there is so much.
    pub(crate) fn spend(&self, now: Timestamp, identity: u64, cost: u64) -> Option<Spent> {
        let now_us = now.as_micros();
        let mut pools = self.pools.lock();
        let pool = pools.get_mut(&identity).filter(|pool| now_us < pool.ends_us && pool.left >= cost)?;
        pool.left -= cost;
        let reset_after_us = pool.reset_at_us.saturating_sub(now_us);
        Some(Spent { remaining: pool.remaining.saturating_add(pool.left), reset_after_us })
    }

    /// Whether the caller may take for this key: nobody else does, and there is room.
    pub(crate) fn may_take(&self, now: Timestamp, identity: u64) -> bool {
        let now_us = now.as_micros();
        let mut pools = self.pools.lock();
        if !pools.contains_key(&identity) && pools.len() >= POOLS_MAX {
            pools.retain(|_, pool| now_us < pool.ends_us.max(pool.taking_until_us));
            if pools.len() >= POOLS_MAX {
                return false;
            }
        }
        let pool = pools.entry(identity).or_default();
        let is_free = now_us >= pool.taking_until_us;
        if is_free {
            // A taker that is cancelled never says so: after this time another may.
            pool.taking_until_us = now_us + LIFETIME_US_MAX;
        }
        is_free
    }

    /// Whoever was let take has got this; `None` = no answer.
    pub(crate) fn taken(&self, now: Timestamp, identity: u64, grant: Option<StoreGrant>) {
        let now_us = now.as_micros();
        let mut pools = self.pools.lock();
        let Some(pool) = pools.get_mut(&identity) else { return };
        pool.taking_until_us = 0;
        let Some(StoreGrant { granted, remaining, reset_after_us, at_us }) = grant else { return };
        let left = if now_us < pool.ends_us { pool.left } else { 0 };
        *pool = Pool {
            left: left.saturating_add(granted),
            ends_us: now_us + self.lifetime_us(at_us, reset_after_us),
            taking_until_us: 0,
            remaining,
            reset_at_us: now_us.saturating_add(reset_after_us),
        };
    }

    /// A call that was paid for has not been made after all.
    pub(crate) fn give_back(&self, identity: u64, cost: u64) {
        if let Some(pool) = self.pools.lock().get_mut(&identity) {
            pool.left = pool.left.saturating_add(cost);
        }
    }

    /// Forgets a key's grant.
    pub(crate) fn cancel(&self, identity: u64) {
        self.pools.lock().remove(&identity);
    }

    /// Units that may still be spent: what the rule may admit too much at most.
    pub(crate) fn outstanding(&self, now: Timestamp) -> u64 {
        let now_us = now.as_micros();
        let pools = self.pools.lock();
        pools.values().filter(|pool| now_us < pool.ends_us).map(|pool| pool.left).sum()
    }

    fn lifetime_us(&self, at_us: u64, reset_after_us: u64) -> u64 {
        let period_us = period_us(self.limit.period());
        let window_us = match (self.limit.algorithm(), self.limit.period()) {
            (Algorithm::FixedWindow, Period::Calendar(_)) => reset_after_us,
            (Algorithm::FixedWindow | Algorithm::SlidingCounter, _) => period_us - at_us % period_us,
            _ => u64::MAX,
        };
        window_us.min(period_us / LIFETIME_DIVISOR).min(LIFETIME_US_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: u64 = 1_600_000_000_000_000;
    const KEY: u64 = 7;

    fn grants(algorithm: Algorithm, period_us: u64) -> Grants {
        Grants::new(Limit::new(algorithm, 1_000, Period::Micros(period_us), None).unwrap(), 10)
    }

    fn at(us: u64) -> Timestamp {
        Timestamp::from_micros(NOW_US + us)
    }

    fn grant(granted: u64, at_us: u64) -> Option<StoreGrant> {
        Some(StoreGrant { granted, remaining: 90, reset_after_us: 30_000_000, at_us })
    }

    fn taken(algorithm: Algorithm, period_us: u64, at_us: u64) -> Grants {
        let grants = grants(algorithm, period_us);
        assert!(grants.may_take(at(0), KEY));
        grants.taken(at(0), KEY, grant(10, at_us));
        grants
    }

    /// How long after it was taken a grant can be spent, to the microsecond.
    fn check_lifetime(algorithm: Algorithm, period_us: u64, at_us: u64, lifetime_us: u64) {
        let grants = taken(algorithm, period_us, at_us);
        assert!(grants.spend(at(lifetime_us - 1), KEY, 1).is_some(), "{algorithm:?} {period_us} {at_us}");
        assert_eq!(grants.spend(at(lifetime_us), KEY, 1), None, "{algorithm:?} {period_us} {at_us}");
        assert_eq!(grants.outstanding(at(lifetime_us)), 0);
    }

    #[test]
    fn what_was_taken_is_spent_and_no_more() {
        let grants = taken(Algorithm::TokenBucket, 60_000_000, NOW_US);
        assert_eq!(grants.spend(at(0), KEY, 7).unwrap(), Spent { remaining: 93, reset_after_us: 30_000_000 });
        assert_eq!(grants.spend(at(0), KEY, 4), None);
        assert_eq!(grants.outstanding(at(0)), 3);
        assert!(grants.spend(at(0), KEY, 3).is_some());
        assert_eq!(grants.spend(at(0), KEY, 1), None);
    }

    #[test]
    fn a_grant_ends_with_a_tenth_of_the_period_with_a_second_and_with_its_window() {
        check_lifetime(Algorithm::TokenBucket, 60_000_000, NOW_US, 1_000_000);
        check_lifetime(Algorithm::SlidingLog, 1_000_000, NOW_US, 100_000);
        check_lifetime(Algorithm::FixedWindow, 60_000_000, 60_000_000 * 9 - 250, 250);
        check_lifetime(Algorithm::SlidingCounter, 1_000_000, 1_000_000 * 9 - 3, 3);
        check_lifetime(Algorithm::FixedWindow, 60_000_000, 60_000_000 * 9, 1_000_000);
    }

    #[test]
    fn one_caller_takes_and_the_others_do_not() {
        let grants = grants(Algorithm::TokenBucket, 60_000_000);
        assert!(grants.may_take(at(0), KEY));
        assert!(!grants.may_take(at(1), KEY));
        assert!(grants.may_take(at(1), KEY + 1));
        grants.taken(at(2), KEY, None);
        assert!(grants.may_take(at(3), KEY), "no answer came");
        assert!(grants.may_take(at(3 + LIFETIME_US_MAX), KEY), "the taker was cancelled");
    }

    #[test]
    fn keys_with_a_grant_are_bounded_and_those_that_have_ended_make_room() {
        let grants = grants(Algorithm::TokenBucket, 60_000_000);
        assert!((0..POOLS_MAX as u64).all(|key| grants.may_take(at(0), key)));
        assert!(!grants.may_take(at(0), POOLS_MAX as u64));
        assert!(grants.may_take(at(LIFETIME_US_MAX), POOLS_MAX as u64));
    }

    #[test]
    fn what_is_given_back_can_be_spent_again_and_what_is_cancelled_cannot() {
        let grants = taken(Algorithm::TokenBucket, 60_000_000, NOW_US);
        assert!(grants.spend(at(0), KEY, 10).is_some());
        grants.give_back(KEY, 10);
        assert!(grants.spend(at(0), KEY, 4).is_some());
        grants.cancel(KEY);
        assert_eq!(grants.spend(at(0), KEY, 1), None);
    }
}
