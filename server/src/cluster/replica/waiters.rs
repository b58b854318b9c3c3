//! Replies that wait until the replica has what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::stream::Reading;

/// Replies of one stream that may wait at a time: a second's worth of a busy shard's at five milliseconds each.
pub const WAITERS_MAX: usize = 1 << 16;

/// Replies that wait, by the reading that they wait for and by their deadline.
///
/// `T` is whatever finds the caller again. A reply is given back once: when it may go, or when its time is up.
#[derive(Debug)]
pub struct Waiters<T> {
    by_reading: BTreeMap<(Reading, u64), (u64, T)>,
    by_deadline: BTreeSet<(u64, Reading, u64)>,
    /// Tells apart those that wait for one reading.
    next_no: u64,
}

impl<T> Default for Waiters<T> {
    fn default() -> Waiters<T> {
        Waiters { by_reading: BTreeMap::new(), by_deadline: BTreeSet::new(), next_no: 0 }
    }
}

impl<T> Waiters<T> {
    /// Keeps a reply until `reading` has arrived at the replica, or `deadline_us` has come.
    ///
    /// # Errors
    /// The reply itself if [`WAITERS_MAX`] wait already: answer `unavailable`.
    pub fn wait(&mut self, reading: Reading, deadline_us: u64, reply: T) -> Result<(), T> {
        if self.by_reading.len() >= WAITERS_MAX {
            return Err(reply);
        }
        let no = self.next_no;
        self.next_no += 1;
        self.by_reading.insert((reading, no), (deadline_us, reply));
        self.by_deadline.insert((deadline_us, reading, no));
        Ok(())
    }

    /// The next reply whose reading is among those that have arrived, in the order of asking.
    pub fn next_ready(&mut self, arrived: &RangeInclusive<Reading>) -> Option<T> {
        if arrived.is_empty() {
            return None;
        }
        let (&(reading, no), _) = self.by_reading.range((*arrived.start(), 0)..=(*arrived.end(), u64::MAX)).next()?;
        self.remove(reading, no)
    }

    /// The next reply that has waited for too long: answer `unavailable`. What it charged stays charged.
    pub fn next_late(&mut self, now_us: u64) -> Option<T> {
        let &(deadline_us, reading, no) = self.by_deadline.first()?;
        if now_us < deadline_us { None } else { self.remove(reading, no) }
    }

    /// When the next one has waited for too long.
    pub fn deadline_us(&self) -> Option<u64> {
        self.by_deadline.first().map(|&(deadline_us, ..)| deadline_us)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.by_reading.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.by_reading.is_empty()
    }

    fn remove(&mut self, reading: Reading, no: u64) -> Option<T> {
        let (deadline_us, reply) = self.by_reading.remove(&(reading, no))?;
        self.by_deadline.remove(&(deadline_us, reading, no));
        Some(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(replies: &[(Reading, u64, &'static str)]) -> Waiters<&'static str> {
        let mut waiters = Waiters::default();
        replies.iter().for_each(|&(reading, deadline_us, reply)| waiters.wait(reading, deadline_us, reply).unwrap());
        waiters
    }

    #[test]
    fn a_reply_goes_once_its_reading_has_arrived_and_others_overtake_it() {
        let mut waiters = waiting(&[(7, 100, "b"), (5, 100, "a"), (9, 100, "c")]);
        let mut ready = |arrived| std::iter::from_fn(|| waiters.next_ready(&arrived)).collect::<Vec<_>>();
        assert_eq!(ready(6..=8), ["b"]);
        assert_eq!(ready(0..=8), ["a"]);
        assert_eq!(ready(RangeInclusive::new(9, 8)), [""; 0]);
        assert_eq!(waiters.len(), 1);
    }

    #[test]
    fn a_reply_whose_time_is_up_is_given_back_once() {
        let mut waiters = waiting(&[(7, 100, "late"), (5, 200, "later")]);
        assert_eq!((waiters.deadline_us(), waiters.next_late(99)), (Some(100), None));
        assert_eq!((waiters.next_late(100), waiters.next_late(100)), (Some("late"), None));
        assert_eq!((waiters.next_ready(&(0..=9)), waiters.is_empty()), (Some("later"), true));
    }

    #[test]
    fn no_more_wait_than_may() {
        let mut waiters = Waiters::default();
        assert!((0..WAITERS_MAX).all(|no| waiters.wait(1, 1, no).is_ok()));
        assert_eq!(waiters.wait(1, 1, 7), Err(7));
    }
}
