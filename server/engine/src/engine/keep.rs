//! How state is looked at and kept: the one place that knows what a call may change.
//!
//! The functions between a call and its answer are inlined: they hand on a counter, which would be copied at each step.

use super::Engine;
use crate::algorithm::any::AnyCounter;
use crate::algorithm::concurrency::Holders;
use crate::algorithm::{self, Counter};
use crate::decision::Full;
use crate::export::record::Name;
use crate::identity::Identity;
use crate::limit::Algorithm;
use crate::limits::LimitId;
use crate::table::{ENTRIES_MAX, Entry, EntryNo, Found};
use crate::time::Timestamp;

/// Entries that are looked at to make room for a call that found none.
const EXPIRIES_FOR_ROOM_MAX: usize = 64;

/// What a call did to the budget that it looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It was a peek.
    Nothing,
    /// It took nothing; if it came with other numbers, it converted the state.
    Converted,
    /// It gave units back.
    Refunded,
    /// It took so many units.
    Charged(u64),
}

impl Effect {
    pub(super) fn of(cost: u64, charged: u64) -> Effect {
        match (cost, charged) {
            (0, _) => Effect::Nothing,
            (_, 0) => Effect::Converted,
            _ => Effect::Charged(charged),
        }
    }
}

/// A counter that was looked at, and where it came from.
#[derive(Debug)]
pub(super) struct Standing<C> {
    pub(super) identity: Identity,
    pub(super) limit: LimitId,
    pub(super) found: Option<Found>,
    pub(super) counter: C,
}

impl Engine {
    /// The budget of `identity` at `now` under `limit`.
    #[inline(always)]
    pub(super) fn stand<C: Counter>(&mut self, now: Timestamp, identity: Identity, limit: LimitId) -> Standing<C> {
        let found = self.table.find(identity);
        let counter = match found {
            Some(found) => self.present(found.entry, limit, now),
            None => C::whole(self.limits.get(limit), now),
        };
        Standing { identity, limit, found, counter }
    }

    /// An entry's state, aged under its own numbers, then converted if `limit` has others.
    ///
    /// State that is whole again under its own numbers is fresh state, whatever the new ones are.
    #[inline(always)]
    fn present<C: Counter>(&mut self, entry: Entry, limit: LimitId, now: Timestamp) -> C {
        let numbers = self.limits.get(limit);
        if entry.limit == limit {
            return C::load(entry.words, numbers, now, &mut self.side);
        }
        let own = self.limits.get(entry.limit);
        let counter = C::load(entry.words, own, now, &mut self.side);
        match counter.is_whole() {
            true => C::whole(numbers, now),
            false if own == numbers => counter,
            false => counter.convert(numbers),
        }
    }

    /// Ends what [`stand`](Engine::stand) began: keeps what the call changed, or leaves everything as it was.
    ///
    /// A charge needs the room that [`room_for`](Engine::room_for) found.
    #[inline(always)]
    pub(super) fn conclude<C: Counter>(&mut self, standing: Standing<C>, effect: Effect) {
        let Standing { identity, limit, found, counter } = standing;
        match (found, effect) {
            (None, Effect::Charged(units)) => {
                let no = self.insert(identity, limit, counter);
                self.outflow.note_entry(no, units);
            }
            (None, _) => {}
            (Some(found), Effect::Charged(units)) => {
                self.rewrite(identity, found, limit, counter, Fullness::NotSooner, units);
            }
            (Some(found), Effect::Refunded) => {
                self.rewrite(identity, found, limit, counter, Fullness::MaybeSooner, 0);
            }
            (Some(found), Effect::Converted) if found.entry.limit != limit => {
                self.rewrite(identity, found, limit, counter, Fullness::MaybeSooner, 0);
            }
            (Some(found), _) => counter.leave(found.entry.words, &mut self.side),
        }
    }

    /// Keeps a charge of `charged` units if there is room for it, else undoes it.
    #[inline(always)]
    pub(super) fn conclude_charge<C: Counter>(
        &mut self,
        now: Timestamp,
        mut standing: Standing<C>,
        cost: u64,
        charged: u64,
    ) -> Result<(), Full> {
        let room = self.room_for(standing.limit, standing.growth(charged));
        if room.is_err() {
            standing.counter.refund(charged, Some(now));
            self.conclude(standing, Effect::Nothing);
            return room;
        }
        self.conclude(standing, Effect::of(cost, charged));
        Ok(())
    }

    /// Runs a call, and once more if it found no room but fresh state could be dropped.
    ///
    /// At the cap, state that is fresh again makes room. A counter that is live is never dropped.
    pub(super) fn with_room<T>(&mut self, call: impl Fn(&mut Engine) -> Result<T, Full>) -> Result<T, Full> {
        match call(self) {
            Err(Full) if self.drop_fresh() => call(self),
            answer => answer,
        }
    }

    #[cold]
    pub(super) fn drop_fresh(&mut self) -> bool {
        let looked_at = (0..EXPIRIES_FOR_ROOM_MAX).map_while(|_| self.expire_entry(self.latest));
        looked_at.filter(|&expired| expired == Expired::Forgotten).count() > 0
    }

    /// Whether what a call adds finds room under `limit`.
    #[inline(always)]
    pub(super) fn room_for(&self, limit: LimitId, growth: Growth) -> Result<(), Full> {
        let room = growth == Growth::NONE || self.has_memory(growth) && self.limits.has_room(limit, growth.keys as u64);
        if room { Ok(()) } else { Err(Full) }
    }

    /// Whether there is memory for what is added, under whichever rules.
    pub(super) fn has_memory(&self, Growth { keys, heap }: Growth) -> bool {
        let more = self.table.bytes_for(keys);
        let grows = heap || more > 0;
        self.table.len() + keys <= ENTRIES_MAX && (!grows || self.bytes() + more <= self.bounds.bytes_max)
    }

    fn insert<C: Counter>(&mut self, identity: Identity, limit: LimitId, counter: C) -> EntryNo {
        let whole_at_us = counter.whole_at_us(self.latest);
        let words = counter.store(None, &mut self.side);
        self.enter(identity, Entry { limit, words }, whole_at_us)
    }

    /// Makes an entry that is forgotten once `whole_at_us` has passed.
    pub(super) fn enter(&mut self, identity: Identity, entry: Entry, whole_at_us: u64) -> EntryNo {
        self.limits.enter(entry.limit);
        let no = self.table.insert(identity, entry);
        self.wheel.arm(&mut self.table.arena, no, whole_at_us);
        no
    }

    /// Writes an entry, to which `units` were charged, or removes it if it is whole.
    #[inline(always)]
    fn rewrite<C: Counter>(
        &mut self,
        identity: Identity,
        found: Found,
        limit: LimitId,
        counter: C,
        fullness: Fullness,
        units: u64,
    ) {
        if counter.is_whole() {
            self.remove(found.no);
            return self.outflow.note(Name::Counter(identity), units);
        }
        let may_be_sooner = fullness == Fullness::MaybeSooner || found.entry.limit != limit;
        if may_be_sooner {
            self.rearm(found.no, counter.whole_at_us(self.latest));
        }
        let words = counter.store(Some(found.entry.words), &mut self.side);
        self.replace(found, Entry { limit, words });
        // Whoever knows an older state keeps it for as long as that one says: if this one may end before, and before it is
        // read, that has to be told, and its number is nobody's by then.
        if may_be_sooner {
            self.outflow.note(Name::Counter(identity), units);
        } else {
            self.outflow.note_entry(found.no, units);
        }
    }

    pub(super) fn rearm(&mut self, no: EntryNo, whole_at_us: u64) {
        self.wheel.disarm(&mut self.table.arena, no);
        self.wheel.arm(&mut self.table.arena, no, whole_at_us);
    }

    #[inline(always)]
    pub(super) fn replace(&mut self, found: Found, entry: Entry) {
        self.table.set(found.no, entry);
        if found.entry.limit != entry.limit {
            self.limits.enter(entry.limit);
            self.limits.leave(found.entry.limit);
        }
    }

    pub(super) fn remove(&mut self, no: EntryNo) {
        self.wheel.disarm(&mut self.table.arena, no);
        self.forget(no);
    }

    /// Frees an entry that stands in no list of the wheel.
    fn forget(&mut self, no: EntryNo) {
        let Entry { limit, words } = self.table.get(no);
        algorithm::free(self.limits.get(limit).algorithm(), words, &mut self.side);
        self.table.remove(no);
        self.limits.leave(limit);
    }

    /// Looks at the next entry that may be whole again, and forgets it if it is. `None` if there is none to look at.
    pub(super) fn expire_entry(&mut self, now: Timestamp) -> Option<Expired> {
        let no = self.wheel.due(&mut self.table.arena, now.as_micros())?;
        match self.whole_at_us(no, now) {
            None => {
                self.forget(no);
                Some(Expired::Forgotten)
            }
            Some(whole_at_us) => {
                self.wheel.arm(&mut self.table.arena, no, whole_at_us);
                Some(Expired::StillUsed)
            }
        }
    }

    /// Whether an entry's state is whole again under the numbers that it was stored with.
    pub(super) fn is_whole(&mut self, no: EntryNo, now: Timestamp) -> bool {
        self.whole_at_us(no, now).is_none()
    }

    /// When an entry's state is whole again under the numbers that it was stored with; `None` if it is.
    fn whole_at_us(&mut self, no: EntryNo, now: Timestamp) -> Option<u64> {
        let Entry { limit, words } = self.table.get(no);
        let own = self.limits.get(limit);
        if own.algorithm() == Algorithm::Concurrency {
            let holders = Holders::load(words, now, &mut self.side);
            let until_us = holders.until_us();
            holders.store(Some(words), &mut self.side);
            return until_us;
        }
        let counter = AnyCounter::load(words, own, now, &mut self.side);
        let whole_at_us = (!counter.is_whole()).then(|| counter.whole_at_us(now));
        counter.leave(words, &mut self.side);
        whole_at_us
    }
}

/// What became of an entry that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    Forgotten,
    StillUsed,
}

/// Whether state may be whole sooner than it was about to be, so that the wheel has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fullness {
    NotSooner,
    MaybeSooner,
}

/// What a call adds to what is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    /// Entries.
    pub(super) keys: usize,
    /// Whether something grows that is kept aside.
    pub(super) heap: bool,
}

impl Growth {
    pub(super) const NONE: Growth = Growth { keys: 0, heap: false };

    pub(super) fn and(self, other: Growth) -> Growth {
        Growth { keys: self.keys + other.keys, heap: self.heap || other.heap }
    }
}

impl<C: Counter> Standing<C> {
    /// What a charge of so many units adds: an entry if there is none, and a log grows with what it counts.
    pub(super) fn growth(&self, charged: u64) -> Growth {
        if charged == 0 {
            return Growth::NONE;
        }
        Growth { keys: usize::from(self.found.is_none()), heap: self.counter.grows() }
    }
}
