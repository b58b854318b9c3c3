//! Arrears: what the fallback admitted while the store was gone, until it is charged to the store that is back.
//!
//! A forced charge of so many units, at the store's own present. What the store would have forgotten by itself meanwhile
//! is not charged at all: units of a window that has ended would be taken from the next one.
//!
//! Invariants:
//! - At most [`KEYS_MAX`] keys owe something. What more keys were admitted is counted as lost, and never charged.
//! - A charge whose answer is lost is not repeated: it may have been made.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tallyring_engine::{Algorithm, Limit, Period, Timestamp};
use tallyring_protocol::Key;

use crate::definition::LimitHandle;
use crate::fallback::period_us;

/// Keys that may owe units at the same time: some ten megabytes.
pub(crate) const KEYS_MAX: usize = 65_536;

/// What is owed by whom. See the module's text.
#[derive(Debug, Default)]
pub(crate) struct Arrears(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    /// By the key's keyed hash.
    owed: BTreeMap<u64, Owed>,
    sums: Sums,
}

/// Units, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Still to be charged.
    pub(crate) owed: u64,
    /// Charged to the store.
    pub(crate) charged: u64,
    /// Never to be charged: there was no room to remember them, or the answer to their charge was lost.
    pub(crate) lost: u64,
}

/// What one key owes under one rule.
#[derive(Clone, Debug)]
pub(crate) struct Owed {
    /// The key's keyed hash.
    pub(crate) identity: u64,
    /// The rule's limit.
    pub(crate) limit: LimitHandle,
    /// Whose budget.
    pub(crate) key: Key,
    /// How much was admitted.
    pub(crate) units: u64,
    /// When it was admitted, the last of it.
    pub(crate) at: Timestamp,
}

impl Arrears {
    /// Notes what was admitted.
    pub(crate) fn owe(&self, new: Owed) {
        let mut book = self.0.lock();
        book.sums.owed = book.sums.owed.saturating_add(new.units);
        book.enter(new);
    }

    /// Puts back what was taken and surely not charged.
    pub(crate) fn put_back(&self, taken: Owed) {
        self.0.lock().enter(taken);
    }

    /// What was admitted has been given back.
    pub(crate) fn forgive(&self, identity: u64, units: u64) {
        let mut book = self.0.lock();
        let Some(owed) = book.owed.get_mut(&identity) else { return };
        let forgiven = units.min(owed.units);
        owed.units -= forgiven;
        let is_paid = owed.units == 0;
        book.sums.owed -= forgiven;
        if is_paid {
            book.owed.remove(&identity);
        }
    }

    /// Takes up to `most` keys out, to charge what they owe; what the store has forgotten anyway is left out.
    ///
    /// For each of them [`charged`](Arrears::charged), [`lost`](Arrears::lost) or [`put_back`](Arrears::put_back) is to
    /// follow; until then they are owed.
    pub(crate) fn take(&self, now: Timestamp, most: usize) -> Vec<Owed> {
        let mut book = self.0.lock();
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some((_, owed)) = book.owed.pop_first()
        {
            if is_forgotten(owed.limit.definition().limit, owed.at, now) {
                book.sums.owed -= owed.units;
            } else {
                taken.push(owed);
            }
        }
        taken
    }

    /// The store has charged them.
    pub(crate) fn charged(&self, units: u64) {
        let sums = &mut self.0.lock().sums;
        (sums.owed, sums.charged) = (sums.owed - units, sums.charged.saturating_add(units));
    }

    /// They will not be charged.
    pub(crate) fn lost(&self, units: u64) {
        self.0.lock().sums.lose(units);
    }

    /// Whether nobody owes anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().owed.is_empty()
    }

    /// How much there is of each kind.
    pub(crate) fn sums(&self) -> Sums {
        self.0.lock().sums
    }
}

impl Book {
    /// Adds to what a key owes; its sum is counted already.
    fn enter(&mut self, new: Owed) {
        let has_room = self.owed.len() < KEYS_MAX;
        match self.owed.get_mut(&new.identity) {
            Some(old) => {
                if is_forgotten(old.limit.definition().limit, old.at, new.at) {
                    self.sums.owed -= std::mem::take(&mut old.units);
                }
                *old = Owed { units: old.units.saturating_add(new.units), at: new.at.max(old.at), ..new };
            }
            None if has_room => {
                self.owed.insert(new.identity, new);
            }
            None => self.sums.lose(new.units),
        }
    }
}

impl Sums {
    fn lose(&mut self, units: u64) {
        (self.owed, self.lost) = (self.owed - units, self.lost.saturating_add(units));
    }
}

/// Whether units that were charged at `then` are whole again at `now`.
fn is_forgotten(limit: Limit, then: Timestamp, now: Timestamp) -> bool {
    let elapsed_us = now.as_micros().saturating_sub(then.as_micros());
    let period_us = period_us(limit.period());
    match limit.algorithm() {
        Algorithm::FixedWindow if matches!(limit.period(), Period::Micros(_)) => {
            then.as_micros() / period_us < now.as_micros() / period_us
        }
        Algorithm::FixedWindow | Algorithm::SlidingLog | Algorithm::Concurrency => elapsed_us >= period_us,
        Algorithm::SlidingCounter => elapsed_us / 2 >= period_us,
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            u128::from(elapsed_us) * u128::from(limit.limit()) >= u128::from(limit.ceiling()) * u128::from(period_us)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::definition::Handles;

    const SECOND_US: u64 = 1_000_000;

    fn at(us: u64) -> Timestamp {
        Timestamp::from_micros(1_600_000_020_000_000 + us) // a minute's begin
    }

    fn owed(identity: u64, units: u64, us: u64) -> Owed {
        let limit = Limit::new(Algorithm::FixedWindow, 10, Period::Micros(60 * SECOND_US), None).unwrap();
        let limit = Arc::<Handles>::default().get(limit.into()).unwrap();
        Owed { identity, limit, key: Key::raw(b"k").unwrap(), units, at: at(us) }
    }

    fn sums(owed: u64, charged: u64, lost: u64) -> Sums {
        Sums { owed, charged, lost }
    }

    #[test]
    fn what_one_key_owes_is_charged_as_one_sum() {
        let arrears = Arrears::default();
        (0..3).for_each(|n| arrears.owe(owed(1, 2, n)));
        assert_eq!(arrears.sums(), sums(6, 0, 0));
        let taken = arrears.take(at(9), 10);
        assert_eq!((taken.len(), taken[0].units), (1, 6));
        assert_eq!((arrears.sums(), arrears.is_empty()), (sums(6, 0, 0), true), "owed until it is charged");
        arrears.charged(6);
        assert_eq!((arrears.sums(), arrears.is_empty()), (sums(0, 6, 0), true));
    }

    #[test]
    fn a_batch_is_bounded() {
        let arrears = Arrears::default();
        (0..5).for_each(|n| arrears.owe(owed(n, 1, 0)));
        assert_eq!([3, 3, 3].map(|most| arrears.take(at(0), most).len()), [3, 2, 0]);
    }

    #[test]
    fn what_could_not_be_charged_is_owed_again_and_what_may_have_been_is_lost() {
        let arrears = Arrears::default();
        (0..2).for_each(|n| arrears.owe(owed(n, 3, 0)));
        let mut taken = arrears.take(at(0), 9).into_iter();
        arrears.owe(owed(0, 1, 1));
        arrears.put_back(taken.next().unwrap());
        arrears.lost(taken.next().unwrap().units);
        assert_eq!(arrears.sums(), sums(4, 0, 3));
        assert_eq!(arrears.take(at(0), 9)[0].units, 4);
    }

    #[test]
    fn what_was_given_back_is_not_owed() {
        let arrears = Arrears::default();
        arrears.owe(owed(1, 5, 0));
        arrears.forgive(1, 2);
        assert_eq!(arrears.sums().owed, 3);
        arrears.forgive(1, 9);
        arrears.forgive(2, 9);
        assert!(arrears.is_empty());
        assert_eq!(arrears.sums(), sums(0, 0, 0));
    }

    #[test]
    fn keys_that_owe_are_bounded_and_what_is_lost_is_counted() {
        let arrears = Arrears::default();
        let limit = owed(0, 1, 0);
        (0..KEYS_MAX as u64 + 2).for_each(|identity| arrears.owe(Owed { identity, ..limit.clone() }));
        assert_eq!(arrears.sums(), sums(KEYS_MAX as u64, 0, 2));
        arrears.owe(owed(0, 1, 0));
        assert_eq!(arrears.sums(), sums(KEYS_MAX as u64 + 1, 0, 2));
    }

    #[test]
    fn units_of_a_window_that_has_ended_are_not_charged_to_the_next() {
        let arrears = Arrears::default();
        arrears.owe(owed(1, 4, 0));
        arrears.owe(owed(1, 1, 60 * SECOND_US));
        assert_eq!(arrears.sums(), sums(1, 0, 0));
        assert!(arrears.take(at(120 * SECOND_US), 9).is_empty());
        assert_eq!(arrears.sums(), sums(0, 0, 0));
    }

    /// The first instant, in microseconds after the charge, at which it does not count any more.
    fn check_forgotten(algorithm: Algorithm, burst: Option<u64>, us: u64) {
        let limit = Limit::new(algorithm, 10, Period::Micros(60 * SECOND_US), burst).unwrap();
        assert!(!is_forgotten(limit, at(0), at(us - 1)), "{algorithm:?}");
        assert!(is_forgotten(limit, at(0), at(us)), "{algorithm:?}");
    }

    #[test]
    fn each_algorithm_forgets_in_its_own_time() {
        check_forgotten(Algorithm::FixedWindow, None, 60 * SECOND_US);
        check_forgotten(Algorithm::SlidingLog, None, 60 * SECOND_US);
        check_forgotten(Algorithm::SlidingCounter, None, 120 * SECOND_US);
        check_forgotten(Algorithm::TokenBucket, Some(5), 30 * SECOND_US);
        check_forgotten(Algorithm::LeakyBucket, Some(20), 120 * SECOND_US);
    }
}
