//! Arrears: what the fallback admitted while the store was gone, until it is charged to the store that is back.
//!
//! A forced charge of so many units, at the store's own present. What the store would have forgotten by itself meanwhile
//! is not charged at all: units of a window that has ended would be taken from the next one.
//!
//! Invariants:
//! - At most [`KEYS_MAX`] keys owe something, and a part of them in each book. What more keys were admitted is counted as lost, and never charged.
//! - A charge whose answer is lost is not repeated: it may have been made.

use parking_lot::Mutex;
use tallyring_engine::{Algorithm, Limit, Period, Timestamp};
use tallyring_protocol::Key;

use crate::definition::LimitHandle;
use crate::fallback::period_us;
use crate::identities::Identities;

/// Keys that may owe units at the same time: some ten megabytes.
pub(crate) const KEYS_MAX: usize = 65_536;

/// Keys of one book.
const KEYS_PER_BOOK_MAX: usize = KEYS_MAX / BOOKS;

/// Books, each behind its own lock: during an outage every admitted call writes in one.
const BOOKS: usize = 4;

/// What is owed by whom. See the module's text.
#[derive(Debug, Default)]
pub(crate) struct Arrears([Mutex<Book>; BOOKS]);

#[derive(Debug, Default)]
struct Book {
    owed: Identities<Owed>,
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
    /// Notes what was admitted at `now`.
    pub(crate) fn owe(&self, now: Timestamp, identity: u64, limit: &LimitHandle, key: &Key, units: u64) {
        let mut book = self.book(identity).lock();
        book.sums.owed = book.sums.owed.saturating_add(units);
        match book.owed.get_mut(&identity) {
            // Nearly always: the same key again, under the same numbers.
            Some(old) if old.limit.version() == limit.version() && !old.is_forgotten(now) => old.add(units, now),
            _ => book.enter(Owed { identity, limit: limit.clone(), key: key.clone(), units, at: now }),
        }
    }

    /// Puts back what was taken and surely not charged.
    pub(crate) fn put_back(&self, taken: Owed) {
        self.book(taken.identity).lock().enter(taken);
    }

    /// What was admitted has been given back.
    pub(crate) fn forgive(&self, identity: u64, units: u64) {
        let mut book = self.book(identity).lock();
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
        let mut taken = Vec::new();
        self.0.iter().for_each(|book| book.lock().take(now, most, &mut taken));
        taken
    }

    /// The store has charged it.
    pub(crate) fn charged(&self, owed: &Owed) {
        let sums = &mut self.book(owed.identity).lock().sums;
        (sums.owed, sums.charged) = (sums.owed - owed.units, sums.charged.saturating_add(owed.units));
    }

    /// It will not be charged.
    pub(crate) fn lost(&self, owed: &Owed) {
        self.book(owed.identity).lock().sums.lose(owed.units);
    }

    /// Whether nobody owes anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|book| book.lock().owed.is_empty())
    }

    /// How much there is of each kind.
    pub(crate) fn sums(&self) -> Sums {
        let sums = self.0.iter().map(|book| book.lock().sums);
        sums.fold(Sums::default(), |all, one| Sums {
            owed: all.owed.saturating_add(one.owed),
            charged: all.charged.saturating_add(one.charged),
            lost: all.lost.saturating_add(one.lost),
        })
    }

    fn book(&self, identity: u64) -> &Mutex<Book> {
        // Bits from the middle: the map picks its places by the ends.
        &self.0[(identity >> 28) as usize % BOOKS]
    }
}

impl Owed {
    fn add(&mut self, units: u64, at: Timestamp) {
        self.units = self.units.saturating_add(units);
        self.at = self.at.max(at);
    }

    /// Whether the store would have forgotten it by itself, had it been charged.
    fn is_forgotten(&self, now: Timestamp) -> bool {
        is_forgotten(self.limit.definition().limit, self.at, now)
    }
}

impl Book {
    /// Adds to what a key owes; its sum is counted already.
    fn enter(&mut self, new: Owed) {
        let has_room = self.owed.len() < KEYS_PER_BOOK_MAX;
        match self.owed.get_mut(&new.identity) {
            Some(old) => {
                if old.is_forgotten(new.at) {
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

    fn take(&mut self, now: Timestamp, most: usize, taken: &mut Vec<Owed>) {
        if taken.len() >= most {
            return;
        }
        for (_, owed) in self.owed.extract_if(|_, _| true) {
            if owed.is_forgotten(now) {
                self.sums.owed -= owed.units;
                continue;
            }
            taken.push(owed);
            if taken.len() == most {
                return; // what the iterator has not come to stays
            }
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

    fn limit() -> LimitHandle {
        let limit = Limit::new(Algorithm::FixedWindow, 10, Period::Micros(60 * SECOND_US), None).unwrap();
        Arc::<Handles>::default().get(limit.into()).unwrap()
    }

    /// One limit for all of a test's keys.
    struct Rig {
        arrears: Arrears,
        limit: LimitHandle,
        key: Key,
    }

    fn rig() -> Rig {
        Rig { arrears: Arrears::default(), limit: limit(), key: Key::raw(b"k").unwrap() }
    }

    impl Rig {
        fn owe(&self, number: u64, units: u64, us: u64) {
            self.arrears.owe(at(us), identity(number), &self.limit, &self.key, units);
        }
    }

    /// As a hash does: every bit differs from key to key.
    fn identity(number: u64) -> u64 {
        number << 28 | number
    }

    fn sums(owed: u64, charged: u64, lost: u64) -> Sums {
        Sums { owed, charged, lost }
    }

    #[test]
    fn what_one_key_owes_is_charged_as_one_sum() {
        let rig = rig();
        (0..3).for_each(|n| rig.owe(1, 2, n));
        assert_eq!(rig.arrears.sums(), sums(6, 0, 0));
        let taken = rig.arrears.take(at(9), 10);
        assert_eq!((taken.len(), taken[0].units), (1, 6));
        assert_eq!((rig.arrears.sums(), rig.arrears.is_empty()), (sums(6, 0, 0), true), "owed until it is charged");
        rig.arrears.charged(&taken[0]);
        assert_eq!((rig.arrears.sums(), rig.arrears.is_empty()), (sums(0, 6, 0), true));
    }

    #[test]
    fn what_a_key_owes_is_charged_under_the_numbers_that_were_last_in_force() {
        let mut rig = rig();
        rig.owe(1, 2, 0);
        let other = Limit::new(Algorithm::FixedWindow, 11, Period::Micros(60 * SECOND_US), None).unwrap();
        let handles = Arc::<Handles>::default();
        let _first = handles.get(rig.limit.definition().limit.into()).unwrap();
        rig.limit = handles.get(other.into()).unwrap();
        rig.owe(1, 2, 1);
        let taken = rig.arrears.take(at(9), 10);
        assert_eq!((taken[0].units, taken[0].limit.definition().limit), (4, other));
    }

    #[test]
    fn a_batch_is_bounded() {
        let rig = rig();
        (0..5).for_each(|n| rig.owe(n, 1, 0));
        assert_eq!([3, 3, 3].map(|most| rig.arrears.take(at(0), most).len()), [3, 2, 0]);
    }

    #[test]
    fn what_could_not_be_charged_is_owed_again_and_what_may_have_been_is_lost() {
        let rig = rig();
        (0..2).for_each(|n| rig.owe(n, 3, 0));
        let (back, lost): (Vec<_>, Vec<_>) =
            rig.arrears.take(at(0), 9).into_iter().partition(|owed| owed.identity == identity(0));
        rig.owe(0, 1, 1);
        back.into_iter().for_each(|owed| rig.arrears.put_back(owed));
        lost.iter().for_each(|owed| rig.arrears.lost(owed));
        assert_eq!(rig.arrears.sums(), sums(4, 0, 3));
        assert_eq!(rig.arrears.take(at(0), 9)[0].units, 4);
    }

    #[test]
    fn what_was_given_back_is_not_owed() {
        let rig = rig();
        rig.owe(1, 5, 0);
        rig.arrears.forgive(identity(1), 2);
        assert_eq!(rig.arrears.sums().owed, 3);
        rig.arrears.forgive(identity(1), 9);
        rig.arrears.forgive(identity(2), 9);
        assert!(rig.arrears.is_empty());
        assert_eq!(rig.arrears.sums(), sums(0, 0, 0));
    }

    #[test]
    fn keys_that_owe_are_bounded_and_what_is_lost_is_counted() {
        let rig = rig();
        (0..KEYS_MAX as u64 + 2).for_each(|number| rig.owe(number, 1, 0));
        assert_eq!(rig.arrears.sums(), sums(KEYS_MAX as u64, 0, 2));
        rig.owe(0, 1, 0);
        assert_eq!(rig.arrears.sums(), sums(KEYS_MAX as u64 + 1, 0, 2));
    }

    #[test]
    fn units_of_a_window_that_has_ended_are_not_charged_to_the_next() {
        let rig = rig();
        rig.owe(1, 4, 0);
        rig.owe(1, 1, 60 * SECOND_US);
        assert_eq!(rig.arrears.sums(), sums(1, 0, 0));
        assert!(rig.arrears.take(at(120 * SECOND_US), 9).is_empty());
        assert_eq!(rig.arrears.sums(), sums(0, 0, 0));
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
