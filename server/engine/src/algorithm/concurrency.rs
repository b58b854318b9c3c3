//! Concurrency: units held at the same time. A holder that dies gives its units back when its time to live ends.

use std::collections::BTreeSet;

use crate::decision::{Full, Slots, Wait};
use crate::export::state::{Malformed, State};
use crate::heap::allocated_bytes;
use crate::limit::{PERIOD_US_MAX, UNITS_MAX};
use crate::side::Side;
use crate::time::Timestamp;

use super::Words;

/// Holders a key.
pub(crate) const HOLDERS_MAX: usize = 10_000;

/// What one holder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// A keyed hash of the holder's name.
    pub holder: u64,
    /// The units, at least one.
    pub units: u64,
    /// The first microsecond since the epoch at which it is no longer held.
    pub until_us: u64,
}

/// Everyone who holds something of one key, by the end of their time, earliest first.
///
/// Times to live are mostly alike, so a new hold belongs at the end; finding a holder reads the list, 240 kB at most.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    holds: Vec<Hold>,
    in_use: u64,
}

/// What a call wants to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) holder: u64,
    pub(crate) units: u64,
    pub(crate) limit: u64,
    pub(crate) ttl_us: u64,
}

impl Holders {
    /// Takes an entry's holders out, those of now; [`store`](Holders::store) brings them back.
    pub(crate) fn load(words: Words, now: Timestamp, side: &mut Side) -> Holders {
        let mut holders = std::mem::take(side.holders.get_mut(words.bits() as u32));
        side.heap_bytes -= holders.heap_bytes();
        holders.age(now);
        holders
    }

    /// Keeps the holders where an entry had them, or in a new place.
    pub(crate) fn store(self, before: Option<Words>, side: &mut Side) -> Words {
        let words = before.unwrap_or_else(|| Words::of(side.holders.insert(Holders::default()).into()));
        side.heap_bytes += self.heap_bytes();
        *side.holders.get_mut(words.bits() as u32) = self;
        words
    }

    /// Frees what an entry keeps aside.
    pub(crate) fn free(words: Words, side: &mut Side) {
        let holders = side.holders.remove(words.bits() as u32);
        side.heap_bytes -= holders.heap_bytes();
    }

    /// Everyone, as of the instant to which the holders have aged.
    pub(crate) fn export(&self) -> State {
        State::Concurrency { holds: self.holds.clone() }
    }

    /// The holders that `state` names, who held what they have at `at`.
    pub(crate) fn import(state: &State, at: Timestamp) -> Result<Holders, Malformed> {
        let State::Concurrency { holds } = state else { return Err(Malformed::ALGORITHM) };
        check_holds(holds, at.as_micros())?;
        Ok(Holders { in_use: holds.iter().map(|hold| hold.units).sum(), holds: holds.clone() })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated_bytes(self.holds.capacity() * size_of::<Hold>())
    }

    /// Units held now.
    pub(crate) fn in_use(&self) -> u64 {
        self.in_use
    }

    /// The first microsecond at which nobody holds anything, unless something comes; `None` if that is so already.
    pub(crate) fn until_us(&self) -> Option<u64> {
        self.holds.last().map(|hold| hold.until_us)
    }

    /// Forgets everyone whose time has ended.
    pub(crate) fn age(&mut self, now: Timestamp) {
        let ended = self.holds.partition_point(|hold| hold.until_us <= now.as_micros());
        self.in_use -= self.holds.drain(..ended).map(|hold| hold.units).sum::<u64>();
        if self.holds.is_empty() {
            *self = Holders::default();
        }
    }

    /// Decides a claim at `now`, to which the holders have aged, and holds it if it is allowed.
    ///
    /// A holder counts once: what it has does not stand in its own way, and with no more than that it may always go on,
    /// so that running work keeps its slot when a limit is lowered.
    ///
    /// `room` says whether there is memory for one more holder.
    pub(crate) fn acquire(&mut self, now: Timestamp, claim: Claim, room: Result<(), Full>) -> Result<Slots, Full> {
        let own = self.find(claim.holder).map(|no| self.holds[no]);
        let own_units = own.map_or(0, |hold| hold.units);
        let renews = own.is_some() && claim.units <= own_units;
        let fits = self.in_use - own_units + claim.units <= claim.limit;
        if !renews && !fits {
            return Ok(self.answer(claim.limit, self.wait_for_others(now, claim)));
        }
        if own.is_none() {
            room?;
            self.room_for_holder()?;
        }
        self.remove(claim.holder);
        self.insert(Hold { holder: claim.holder, units: claim.units, until_us: now.as_micros() + claim.ttl_us });
        Ok(self.answer(claim.limit, Wait::NOW))
    }

    /// Gives back what `holder` has. Says whether it had something.
    pub(crate) fn remove(&mut self, holder: u64) -> bool {
        let Some(no) = self.find(holder) else { return false };
        self.in_use -= self.holds.remove(no).units;
        true
    }

    fn room_for_holder(&self) -> Result<(), Full> {
        if self.holds.len() < HOLDERS_MAX { Ok(()) } else { Err(Full) }
    }

    fn find(&self, holder: u64) -> Option<usize> {
        self.holds.iter().position(|hold| hold.holder == holder)
    }

    fn insert(&mut self, hold: Hold) {
        let no = self.holds.partition_point(|other| other.until_us <= hold.until_us);
        self.holds.insert(no, hold);
        self.in_use += hold.units;
    }

    fn answer(&self, limit: u64, retry_after: Wait) -> Slots {
        Slots { allowed: retry_after == Wait::NOW, limit, in_use: self.in_use, retry_after }
    }

    /// The wait until enough of the earliest-ending others are gone.
    fn wait_for_others(&self, now: Timestamp, claim: Claim) -> Wait {
        let Some(room) = claim.limit.checked_sub(claim.units) else { return Wait::Never };
        let others = || self.holds.iter().filter(|hold| hold.holder != claim.holder);
        let mut held: u64 = others().map(|hold| hold.units).sum();
        let last = others().find(|hold| {
            held -= hold.units;
            held <= room
        });
        let last = last.expect("when all others are gone, what fits under the limit fits");
        Wait::Micros(u128::from(last.until_us - now.as_micros()))
    }
}

/// Whether a key may have these: as many as there may be, earliest end first, each name once, each alive at `at_us`.
fn check_holds(holds: &[Hold], at_us: u64) -> Result<(), Malformed> {
    Malformed::unless(holds.len() <= HOLDERS_MAX, "a key's number of holders")?;
    let ascend = holds.is_sorted_by_key(|hold| hold.until_us);
    let live = holds.iter().all(|hold| hold.until_us > at_us && hold.until_us - at_us <= PERIOD_US_MAX);
    Malformed::unless(ascend && live, "a hold's end")?;
    Malformed::unless(holds.iter().all(|hold| (1..=UNITS_MAX).contains(&hold.units)), "a hold's units")?;
    let names: BTreeSet<u64> = holds.iter().map(|hold| hold.holder).collect();
    Malformed::unless(names.len() == holds.len(), "a holder's name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holder: u64, units: u64, ttl_us: u64) -> Claim {
        Claim { holder, units, limit: 5, ttl_us }
    }

    fn at(now_us: u64) -> Timestamp {
        Timestamp::from_micros(now_us)
    }

    /// (allowed, in_use, retry in µs; `None` = never)
    fn check(holders: &mut Holders, now_us: u64, claim: Claim, expect: (bool, u64, Option<u128>)) {
        holders.age(at(now_us));
        let slots = holders.acquire(at(now_us), claim, Ok(())).unwrap();
        assert_eq!((slots.allowed, slots.in_use, slots.retry_after.exact_us()), expect, "{claim:?} at {now_us}");
    }

    #[test]
    fn a_hold_ends_with_its_time_to_live() {
        let mut holders = Holders::default();
        check(&mut holders, 0, claim(1, 5, 10), (true, 5, Some(0)));
        check(&mut holders, 9, claim(2, 1, 10), (false, 5, Some(1)));
        check(&mut holders, 10, claim(2, 1, 10), (true, 1, Some(0)));
    }

    #[test]
    fn a_wait_counts_the_others_that_end_first() {
        let mut holders = Holders::default();
        check(&mut holders, 0, claim(1, 2, 30), (true, 2, Some(0)));
        check(&mut holders, 0, claim(2, 1, 10), (true, 3, Some(0)));
        check(&mut holders, 0, claim(3, 2, 20), (true, 5, Some(0)));
        check(&mut holders, 1, claim(4, 1, 9), (false, 5, Some(9)));
        check(&mut holders, 1, claim(4, 2, 9), (false, 5, Some(19)));
        check(&mut holders, 1, claim(4, 4, 9), (false, 5, Some(29)));
        check(&mut holders, 1, claim(4, 6, 9), (false, 5, None));
        // Holder 1 grows to 4 when 2 and 3 leave it room: it does not wait for itself.
        check(&mut holders, 1, claim(1, 4, 9), (false, 5, Some(19)));
    }

    #[test]
    fn running_work_keeps_its_slot_when_a_limit_is_lowered() {
        let mut holders = Holders::default();
        check(&mut holders, 0, claim(1, 5, 10), (true, 5, Some(0)));
        check(&mut holders, 1, Claim { limit: 1, ..claim(1, 4, 10) }, (true, 4, Some(0)));
        check(&mut holders, 2, Claim { limit: 1, ..claim(1, 5, 10) }, (false, 4, None));
    }

    #[test]
    fn the_holder_too_many_is_told_so_where_it_would_fit() {
        let mut holders = Holders::default();
        for holder in 0..HOLDERS_MAX as u64 {
            holders.acquire(at(0), Claim { limit: 10_001, ..claim(holder, 1, 10) }, Ok(())).unwrap();
        }
        assert_eq!(holders.acquire(at(0), Claim { limit: 10_001, ..claim(1 << 40, 1, 10) }, Ok(())), Err(Full));
        check(&mut holders, 0, Claim { limit: 10_000, ..claim(1 << 40, 1, 10) }, (false, 10_000, Some(10)));
        check(&mut holders, 0, Claim { limit: 10_001, ..claim(7, 2, 10) }, (true, 10_001, Some(0)));
        assert!(holders.remove(8));
        assert!(!holders.remove(8));
        check(&mut holders, 0, Claim { limit: 10_001, ..claim(1 << 40, 1, 10) }, (true, 10_001, Some(0)));
    }
}
