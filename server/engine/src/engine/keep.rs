//! How state is looked at and kept: the one place that knows what a call may change.

use super::Engine;
use crate::algorithm::any::AnyCounter;
use crate::algorithm::concurrency::Holders;
use crate::algorithm::{self, Counter};
use crate::bounds::KEY_BYTES;
use crate::decision::Full;
use crate::identity::Identity;
use crate::limit::Algorithm;
use crate::limits::{LimitId, Outcome};
use crate::table::{ENTRIES_MAX, Entry, EntryNo};
use crate::time::Timestamp;

/// What a call did to the budget that it looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It was a peek.
    Nothing,
    /// It took nothing; if it came with other numbers, it converted the state.
    Converted,
    /// It gave units back.
    Refunded,
    /// It took units.
    Charged,
}

impl Effect {
    pub(super) fn of(cost: u64, charged: u64) -> Effect {
        match (cost, charged) {
            (0, _) => Effect::Nothing,
            (_, 0) => Effect::Converted,
            _ => Effect::Charged,
        }
    }
}

/// A counter that was looked at, and where it came from.
#[derive(Debug)]
pub(super) struct Standing<C> {
    pub(super) identity: Identity,
    pub(super) limit: LimitId,
    pub(super) found: Option<EntryNo>,
    pub(super) counter: C,
}

impl Engine {
    /// The budget of `identity` at `now` under `limit`.
    pub(super) fn stand<C: Counter>(&mut self, now: Timestamp, identity: Identity, limit: LimitId) -> Standing<C> {
        let found = self.table.find(identity);
        let counter = match found {
            Some(no) => self.present(no, limit, now),
            None => C::whole(self.limits.get(limit), now),
        };
        Standing { identity, limit, found, counter }
    }

    /// An entry's state, aged under its own numbers, then converted if `limit` has others.
    ///
    /// State that is whole again under its own numbers is fresh state, whatever the new ones are.
    fn present<C: Counter>(&mut self, no: EntryNo, limit: LimitId, now: Timestamp) -> C {
        let numbers = self.limits.get(limit);
        let entry = self.table.get(no);
        let own = if entry.limit == limit { numbers } else { self.limits.get(entry.limit) };
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
    pub(super) fn conclude<C: Counter>(&mut self, standing: Standing<C>, effect: Effect) {
        let Standing { identity, limit, found, counter } = standing;
        match (found, effect) {
            (None, Effect::Charged) => self.insert(identity, limit, counter),
            (None, _) => {}
            (Some(no), Effect::Charged) => self.rewrite(no, limit, counter, Fullness::NotSooner),
            (Some(no), Effect::Refunded) => self.rewrite(no, limit, counter, Fullness::MaybeSooner),
            (Some(no), Effect::Converted) if self.table.get(no).limit != limit => {
                self.rewrite(no, limit, counter, Fullness::MaybeSooner);
            }
            (Some(no), _) => counter.leave(self.table.get(no).words, &mut self.side),
        }
    }

    /// Keeps a charge of `charged` units if there is room for it, else undoes it.
    pub(super) fn conclude_charge<C: Counter>(
        &mut self,
        now: Timestamp,
        mut standing: Standing<C>,
        cost: u64,
        charged: u64,
    ) -> Result<(), Full> {
        let room = self.room_for(standing.limit, standing.new_keys(charged), charged);
        if room.is_err() {
            standing.counter.refund(charged, Some(now));
            self.conclude(standing, Effect::Nothing);
            return room;
        }
        self.conclude(standing, Effect::of(cost, charged));
        Ok(())
    }

    /// Whether `charged` units, which need so many new entries, find room under `limit`; counts the refusal if not.
    ///
    /// At the byte cap a counter that is there goes on counting, but a log, which grows with what it counts, does not.
    pub(super) fn room_for(&mut self, limit: LimitId, new_keys: usize, charged: u64) -> Result<(), Full> {
        let grows = self.limits.get(limit).algorithm() == Algorithm::SlidingLog;
        if charged == 0 || (new_keys == 0 && !grows) {
            return Ok(());
        }
        let bytes = self.bytes() + new_keys * KEY_BYTES;
        let has_numbers = self.table.len() + new_keys <= ENTRIES_MAX;
        if has_numbers && bytes <= self.bounds.bytes_max && self.limits.has_room(limit, new_keys as u64) {
            return Ok(());
        }
        self.limits.count(limit, Outcome::Full);
        Err(Full)
    }

    fn insert<C: Counter>(&mut self, identity: Identity, limit: LimitId, counter: C) {
        let whole_at_us = counter.whole_at_us(self.latest);
        let words = counter.store(None, &mut self.side);
        self.enter(identity, Entry { limit, words }, whole_at_us);
    }

    /// Makes an entry that is forgotten once `whole_at_us` has passed.
    pub(super) fn enter(&mut self, identity: Identity, entry: Entry, whole_at_us: u64) {
        self.limits.enter(entry.limit);
        let no = self.table.insert(identity, entry);
        self.wheel.arm(&mut self.table.arena, no, whole_at_us);
    }

    fn rewrite<C: Counter>(&mut self, no: EntryNo, limit: LimitId, counter: C, fullness: Fullness) {
        if counter.is_whole() {
            return self.remove(no);
        }
        let before = self.table.get(no);
        if fullness == Fullness::MaybeSooner || before.limit != limit {
            self.rearm(no, counter.whole_at_us(self.latest));
        }
        let words = counter.store(Some(before.words), &mut self.side);
        self.replace(no, Entry { limit, words });
    }

    pub(super) fn rearm(&mut self, no: EntryNo, whole_at_us: u64) {
        self.wheel.disarm(&mut self.table.arena, no);
        self.wheel.arm(&mut self.table.arena, no, whole_at_us);
    }

    pub(super) fn replace(&mut self, no: EntryNo, entry: Entry) {
        let before = self.table.get(no).limit;
        self.table.set(no, entry);
        if before != entry.limit {
            self.limits.enter(entry.limit);
            self.limits.leave(before);
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

impl<C> Standing<C> {
    /// Entries that a charge of so many units needs.
    pub(super) fn new_keys(&self, charged: u64) -> usize {
        usize::from(self.found.is_none() && charged > 0)
    }
}
