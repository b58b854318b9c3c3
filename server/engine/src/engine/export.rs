//! Reading state out: a range of the ring by steps, and what has changed since the last reading.

use std::collections::BTreeMap;

use super::Engine;
use crate::algorithm::Counter;
use crate::algorithm::any::AnyCounter;
use crate::algorithm::concurrency::Holders;
use crate::export::intake::Intake;
use crate::export::outflow::{Changes, ChangesLost};
use crate::export::placements::Placements;
use crate::export::record::{BATCH_RECORDS_MAX, Batch, CounterState, Name, Record, ReservationState, RuleLimit};
use crate::export::seen::Seen;
use crate::export::state::{Portable, State};
use crate::identity::Identity;
use crate::limit::Algorithm;
use crate::limits::LimitId;
use crate::reservation::Reservation;
use crate::table::{Entry, EntryNo};
use crate::time::Timestamp;

/// Entries and reservations that one step looks at, wanted or not: a chunk's worth, some twenty microseconds if none is.
const LOOKED_AT_MAX: usize = 1 << 14;

/// Instants and holders that a step reads before it stops: some hundred microseconds. One entry may bring 100,000 more.
const WEIGHT_MAX: usize = 1 << 14;

/// Instants and holders in one batch of changes, after which no other place of the ring is begun: so that its bytes are
/// bounded by a few megabytes, whatever logs changed.
const CHANGES_WEIGHT_MAX: usize = 1 << 17;

/// Changed keys whose memory is fetched together.
const READ_TOGETHER: usize = 64;

/// How far an export has come. It stays good while the engine serves and keys come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(Position);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// The next entry's number.
    Entry(u32),
    /// The last reservation that was looked at.
    Reservation(Option<Identity>),
}

impl Cursor {
    /// Where an export begins.
    pub const START: Cursor = Cursor(Position::Entry(0));
}

/// A batch while it is read.
struct Draft {
    batch: Batch,
    /// Each limit's place in the batch.
    places: BTreeMap<LimitId, u32>,
    weight: usize,
}

impl Engine {
    /// Counts batches in `epoch` from now on: ownership may have changed, or begins.
    ///
    /// Sequences are counted in memory, so an engine that starts anew needs a newer epoch than it had before.
    ///
    /// # Panics
    /// If the engine's epoch is newer.
    pub fn begin_epoch(&mut self, epoch: u64) {
        self.outflow.begin_epoch(epoch);
    }

    /// Reads the counters and reservations of `within`, from `from` on, up to `records_max` of them in one bounded step.
    ///
    /// Answers a batch, possibly an empty one, and where to go on; `None` if that was all. Calls may come between steps:
    /// what is there from the first step to the last is read once, as it stood at its step. What is created meanwhile may
    /// be missed, and what is changed or deleted after its step is not corrected: [`changes`](Engine::changes), followed
    /// from before the first step on, completes the picture.
    ///
    /// ```
    /// use tallyring_engine::*;
    /// let (mut here, mut there) = (Engine::new(Bounds::default()), Engine::new(Bounds::default()));
    /// let ten = Limit::new(Algorithm::FixedWindow, 10, Period::Micros(60_000_000), None)?;
    /// let (id, key) = (here.intern("rule", ten)?, Identity { placement: 3, identity: 9 });
    /// let now = Timestamp::from_micros(5);
    /// here.check(now, key, id, Ask::new(4))?;
    ///
    /// let (mut from, mut intake) = (Some(Cursor::START), Intake::in_order());
    /// while let Some(cursor) = from {
    ///     let (batch, next) = here.export(now, &Placements::all(), cursor, 1_000);
    ///     there.import(now, &mut intake, &batch)?;
    ///     from = next;
    /// }
    /// let id = there.intern("rule", ten)?;
    /// assert_eq!(there.check(now, key, id, Ask::new(4))?.remaining, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn export(
        &mut self,
        now: Timestamp,
        within: &Placements,
        from: Cursor,
        records_max: usize,
    ) -> (Batch, Option<Cursor>) {
        let now = self.advance(now);
        let mut draft = self.draft(now);
        let records_max = records_max.clamp(1, BATCH_RECORDS_MAX);
        let next = match from.0 {
            Position::Entry(no) => self.export_entries(within, no, records_max, &mut draft),
            Position::Reservation(after) => self.export_reservations(within, after, records_max, &mut draft),
        };
        (draft.batch, next.map(Cursor))
    }

    /// Notes which keys change from now on, until [`unfollow_changes`](Engine::unfollow_changes).
    ///
    /// Takes some two megabytes, and ten instructions of each call that charges.
    pub fn follow_changes(&mut self) {
        self.outflow.follow();
    }

    /// Stops noting changes and forgets those that were noted.
    pub fn unfollow_changes(&mut self) {
        self.outflow.unfollow();
    }

    /// Changes noted and not yet read; a key that changed twice may count twice. Shortly before there are
    /// [`BATCH_RECORDS_MAX`] distinct ones, they are lost.
    pub fn changes_noted(&self) -> usize {
        self.outflow.noted()
    }

    /// Whether [`changes`](Engine::changes) would find something: changes, or that they are lost.
    pub fn has_changes(&self) -> bool {
        self.outflow.has_changes()
    }

    /// Units that were charged, and slots that were acquired, while changes were followed, ever; modulo 2^64.
    ///
    /// Between two readings it grows by what a replica that has the first one, and not the second, does not know of.
    /// Refunds take nothing off it.
    pub fn units_charged(&self) -> u64 {
        self.outflow.units_charged()
    }

    /// Reads every key that changed since the last reading, as it stands now, as one batch: it may be empty.
    ///
    /// Takes some hundred nanoseconds a key and ten an admitted instant, in one go: call it every few milliseconds. If
    /// there is more than a batch takes, the rest stays noted ([`changes_noted`](Engine::changes_noted)); what lies on
    /// one place of the ring is never parted.
    ///
    /// # Errors
    /// Too many keys changed since then.
    pub fn changes(&mut self, now: Timestamp) -> Result<Batch, ChangesLost> {
        let now = self.advance(now);
        let changes = self.outflow.take_changes()?;
        let names = self.names_of(&changes);
        let mut draft = self.draft(now);
        let read = self.read_changes(&names, &mut draft);
        self.outflow.reuse(changes, &names[read..]);
        Ok(draft.batch)
    }

    /// Forgets the counters and reservations of `within`, from `from` on, in bounded steps as
    /// [`export`](Engine::export): for a range that another engine owns now. Answers where to go on.
    ///
    /// State that is left behind would come to life again if the range came back and its key was reset meanwhile.
    pub fn discard(&mut self, within: &Placements, from: Cursor) -> Option<Cursor> {
        self.discard_but(within, &Seen::default(), from)
    }

    /// Forgets, in the same steps, what is there of `within` and was not brought to `intake` since its refill began: the
    /// end of one. What comes in between the steps stays.
    ///
    /// # Panics
    /// If `intake` is no refill's.
    pub fn discard_unseen(&mut self, within: &Placements, intake: &Intake, from: Cursor) -> Option<Cursor> {
        self.discard_but(
            within,
            intake.seen().expect("only a refill is ended by forgetting what it did not bring"),
            from,
        )
    }

    fn discard_but(&mut self, within: &Placements, seen: &Seen, from: Cursor) -> Option<Cursor> {
        let next = match from.0 {
            Position::Entry(no) => self.discard_entries(within, seen, no),
            Position::Reservation(after) => self.discard_reservations(within, seen, after),
        };
        next.map(Cursor)
    }

    fn draft(&mut self, now: Timestamp) -> Draft {
        let version = self.outflow.next_version();
        let batch = Batch { version, read_at: now, limits: Vec::new(), records: Vec::new() };
        Draft { batch, places: BTreeMap::new(), weight: 0 }
    }

    fn export_entries(
        &mut self,
        within: &Placements,
        from: u32,
        records_max: usize,
        draft: &mut Draft,
    ) -> Option<Position> {
        let end = self.step_end(from);
        for no in from..end {
            if draft.is_full(records_max) {
                return Some(Position::Entry(no));
            }
            if let Some(identity) = self.entry_within(within, EntryNo(no)) {
                let read = self.read_entry(EntryNo(no), draft.batch.read_at);
                if let Some((limit, state)) = read {
                    self.add_counter(draft, identity, limit, state);
                }
            }
        }
        Some(self.after_entries(end))
    }

    fn discard_entries(&mut self, within: &Placements, seen: &Seen, from: u32) -> Option<Position> {
        let end = self.step_end(from);
        for no in (from..end).map(EntryNo) {
            if self.entry_within(within, no).is_some() && !seen.has_entry(no) {
                self.remove(no);
            }
        }
        Some(self.after_entries(end))
    }

    /// The number after the last that a step from `from` on looks at.
    fn step_end(&self, from: u32) -> u32 {
        from.saturating_add(LOOKED_AT_MAX as u32).min(self.table.arena.numbers())
    }

    fn after_entries(&self, end: u32) -> Position {
        if end < self.table.arena.numbers() { Position::Entry(end) } else { Position::Reservation(None) }
    }

    /// Whose entry has that number, if it is wanted.
    fn entry_within(&self, within: &Placements, no: EntryNo) -> Option<Identity> {
        let cell = &self.table.arena[no];
        let identity = cell.identity();
        (!cell.is_free() && within.contains(identity.placement)).then_some(identity)
    }

    fn export_reservations(
        &mut self,
        within: &Placements,
        after: Option<Identity>,
        records_max: usize,
        draft: &mut Draft,
    ) -> Option<Position> {
        let names = self.reservation_names(after);
        let mut last = after;
        for &name in &names {
            if draft.is_full(records_max) {
                return Some(Position::Reservation(last));
            }
            if within.contains(name.placement) {
                self.add_live_reservation(draft, name);
            }
            last = Some(name);
        }
        (!names.is_empty()).then_some(Position::Reservation(last))
    }

    fn discard_reservations(&mut self, within: &Placements, seen: &Seen, after: Option<Identity>) -> Option<Position> {
        let names = self.reservation_names(after);
        for &name in names.iter().filter(|name| within.contains(name.placement) && !seen.has_reservation(**name)) {
            self.end_reservation(name);
        }
        names.last().map(|&last| Position::Reservation(Some(last)))
    }

    /// The names that a step after `after` looks at.
    fn reservation_names(&self, after: Option<Identity>) -> Vec<Identity> {
        self.reservations.after(after).take(LOOKED_AT_MAX).map(|(name, _)| name).collect()
    }

    /// Whom the changes are of, each once, by their place on the ring.
    fn names_of(&self, changes: &Changes) -> Vec<Name> {
        let cells = changes.entries.iter().map(|&no| &self.table.arena[no]);
        let written = cells.filter(|cell| !cell.is_free()).map(|cell| Name::Counter(cell.identity()));
        let mut names: Vec<Name> = written.chain(changes.names.iter().copied()).collect();
        names.sort_unstable_by_key(|&name| (name.identity(), name));
        names.dedup();
        names
    }

    /// Reads what fits in a batch, place by place. Says how many names that were.
    fn read_changes(&mut self, names: &[Name], draft: &mut Draft) -> usize {
        let (mut read, mut fetched) = (0, 0);
        for place in names.chunk_by(|one, next| one.placement() == next.placement()) {
            if read > 0 && (read + place.len() > BATCH_RECORDS_MAX || draft.weight >= CHANGES_WEIGHT_MAX) {
                break;
            }
            for &name in place {
                if read == fetched {
                    let ahead = &names[read..names.len().min(read + READ_TOGETHER)];
                    self.prefetch_named(ahead);
                    fetched += ahead.len();
                }
                self.read_changed(name, draft);
                read += 1;
            }
        }
        read
    }

    /// Changed keys lie anywhere: waits for their memory overlap.
    fn prefetch_named(&mut self, names: &[Name]) {
        let mut identities = [Identity { placement: 0, identity: 0 }; READ_TOGETHER];
        let counters = names.iter().filter_map(|name| match *name {
            Name::Counter(identity) => Some(identity),
            Name::Reservation(_) => None,
        });
        let len = identities.iter_mut().zip(counters).map(|(room, identity)| *room = identity).count();
        self.prefetch(&identities[..len]);
    }

    fn read_changed(&mut self, name: Name, draft: &mut Draft) {
        match name {
            Name::Counter(identity) => self.read_changed_counter(identity, draft),
            Name::Reservation(name) => self.read_changed_reservation(name, draft),
        }
    }

    fn read_changed_counter(&mut self, identity: Identity, draft: &mut Draft) {
        let found = self.table.find(identity);
        match found.and_then(|found| self.read_entry(found.no, draft.batch.read_at)) {
            Some((limit, state)) => self.add_counter(draft, identity, limit, state),
            None => draft.add(Record::Counter { identity, counter: None }),
        }
    }

    fn read_changed_reservation(&mut self, name: Identity, draft: &mut Draft) {
        if !self.add_live_reservation(draft, name) {
            draft.add(Record::Reservation { name, reservation: None });
        }
    }

    /// An entry's limit and state; `None` if it is whole.
    fn read_entry(&mut self, no: EntryNo, now: Timestamp) -> Option<(LimitId, State)> {
        let Entry { limit, words } = self.table.get(no);
        let numbers = self.limits.get(limit);
        if numbers.algorithm() == Algorithm::Concurrency {
            let holders = Holders::load(words, now, &mut self.side);
            let state = holders.until_us().map(|_| holders.export());
            holders.store(Some(words), &mut self.side);
            return state.map(|state| (limit, state));
        }
        let counter = AnyCounter::load(words, numbers, now, &mut self.side);
        let state = (!counter.is_whole()).then(|| counter.export());
        counter.leave(words, &mut self.side);
        state.map(|state| (limit, state))
    }

    fn add_counter(&self, draft: &mut Draft, identity: Identity, limit: LimitId, state: State) {
        draft.weight += state.weight();
        let limit = self.place_limit(draft, limit);
        draft.add(Record::Counter { identity, counter: Some(CounterState { limit, state }) });
    }

    /// Adds the reservation of that name. Says whether it lives.
    fn add_live_reservation(&self, draft: &mut Draft, name: Identity) -> bool {
        let Some(&known) = self.reservations.get(name, draft.batch.read_at) else { return false };
        let Reservation { counter, limit, charged, charged_at, decision, until_us } = known;
        let limit = self.place_limit(draft, limit);
        let reservation = ReservationState { counter, limit, charged, charged_at, decision, until_us };
        draft.add(Record::Reservation { name, reservation: Some(Box::new(reservation)) });
        true
    }

    /// Where a limit stands in the batch, behind the others if it is not there yet.
    fn place_limit(&self, draft: &mut Draft, id: LimitId) -> u32 {
        let limits = &mut draft.batch.limits;
        *draft.places.entry(id).or_insert_with(|| {
            limits.push(RuleLimit { rule: self.limits.rule_name(id).into(), limit: *self.limits.get(id) });
            (limits.len() - 1) as u32
        })
    }
}

impl Draft {
    fn add(&mut self, record: Record) {
        self.batch.records.push(record);
    }

    fn is_full(&self, records_max: usize) -> bool {
        self.batch.records.len() >= records_max || self.weight >= WEIGHT_MAX
    }
}
