//! Taking state in: a batch is looked through, then finds room, then replaces what was there. Nothing, or all of it.

use std::collections::BTreeMap;

use super::Engine;
use crate::algorithm::any::AnyCounter;
use crate::algorithm::concurrency::Holders;
use crate::algorithm::{Counter, Words};
use crate::bounds::KEY_BYTES;
use crate::decision::{Full, LimitsFull, Wait};
use crate::export::intake::Intake;
use crate::export::record::{BATCH_RECORDS_MAX, Batch, CounterState, Name, Record, ReservationState};
use crate::export::state::{Malformed, Portable};
use crate::identity::Identity;
use crate::limit::{Algorithm, Limit, RESERVATION_TTL_US_MAX, UNITS_MAX};
use crate::limits::LimitId;
use crate::reservation::Reservation;
use crate::side::Side;
use crate::table::arena::CHUNK_BYTES;
use crate::table::{ENTRIES_MAX, Entry, EntryNo, Found};
use crate::time::Timestamp;

/// How far a batch's instant may lie in the future: clocks of one cluster agree far better, so one that differs by more
/// is broken, and its instants would freeze the keys that they reach.
pub const AHEAD_US_MAX: u64 = 1_000_000;

/// What became of a batch's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Records that replaced what was there.
    pub replaced: usize,
    /// Records as old as what the intake has seen of their names, or older: they changed nothing.
    pub older: usize,
}

/// Why a batch was refused. Nothing of it was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// There is no room for its counters or reservations: the memory, or a rule's share of it, is used up by live ones.
    #[error(transparent)]
    Full(#[from] Full),
    /// There is no room for its limits.
    #[error(transparent)]
    LimitsFull(#[from] LimitsFull),
    /// The intake remembers as many versions as it may: settle it.
    #[error("too many records since the intake was settled")]
    Unsettled,
    /// It was read more than [`AHEAD_US_MAX`] after now: a clock is wrong.
    #[error("read {ahead_us} microseconds in the future")]
    TooFarAhead {
        /// By how much.
        ahead_us: u64,
    },
    /// It has more than [`BATCH_RECORDS_MAX`] records.
    #[error("{records} records are more than a batch has")]
    TooLong {
        /// How many it has.
        records: usize,
    },
    /// A record says what no engine writes.
    #[error("record {record} is malformed: {what}")]
    Malformed {
        /// Which, counted from 0.
        record: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// A record that was looked through: ready to be kept.
enum Ready {
    Counter(Identity, Option<ReadyCounter>),
    Reservation(Identity, Option<Box<ReservationState>>),
}

struct ReadyCounter {
    /// A place in the batch's limits.
    limit: usize,
    state: ReadyState,
}

enum ReadyState {
    Budget(Box<AnyCounter>),
    Slots(Holders),
}

/// A batch that was looked through, and what it needs.
#[derive(Default)]
struct Cargo {
    records: Vec<Ready>,
    /// New entries under each of the batch's limits.
    keys: BTreeMap<usize, usize>,
    reservations: usize,
    heap_bytes: usize,
}

impl Engine {
    /// Takes a batch in: each record replaces what is kept under its name, or changes nothing if `intake` has seen one
    /// as new. From then on this engine decides as the one that the batch was read from.
    ///
    /// The engine's time moves to the batch's instant, if that is later: a key's time never goes back. What is taken in is
    /// no change of its own, and is not noted as one.
    ///
    /// # Errors
    /// The batch is refused as a whole; see [`ImportError`].
    pub fn import(&mut self, now: Timestamp, intake: &mut Intake, batch: &Batch) -> Result<Imported, ImportError> {
        let now = self.advance(now);
        reject_unsound(now, batch)?;
        if !intake.is_open_to(batch.version) {
            return Ok(Imported { replaced: 0, older: batch.records.len() });
        }
        self.prefetch_counters(batch);
        let cargo = self.look_through(intake, batch)?;
        if !intake.has_room(cargo.records.len()) {
            return Err(ImportError::Unsettled);
        }
        let limits = self.intern_all(batch)?;
        let room = self.with_room(|engine| engine.room_for_cargo(&cargo, batch, &limits));
        let imported = room.map(|()| {
            self.advance(batch.read_at);
            self.keep_cargo(intake, cargo, batch, &limits)
        });
        limits.into_iter().for_each(|limit| self.release(limit));
        Ok(imported?)
    }

    /// Fetches the memory of a batch's counters: it is looked at twice, and lies anywhere.
    fn prefetch_counters(&mut self, batch: &Batch) {
        let identity = |record: &Record| match *record {
            Record::Counter { identity, .. } => Some(identity),
            Record::Reservation { .. } => None,
        };
        let identities: Vec<Identity> = batch.records.iter().filter_map(identity).collect();
        self.prefetch(&identities);
    }

    /// Makes counters and reservations of all records that are news.
    fn look_through(&self, intake: &Intake, batch: &Batch) -> Result<Cargo, ImportError> {
        let mut cargo = Cargo { records: Vec::with_capacity(batch.records.len()), ..Cargo::default() };
        for (no, record) in batch.records.iter().enumerate() {
            let ready = numbered(no, make_ready(batch, record))?;
            if intake.is_news(record.name(), batch.version) {
                self.reckon(&mut cargo, &ready);
                cargo.records.push(ready);
            }
        }
        Ok(cargo)
    }

    /// Adds what a record needs.
    fn reckon(&self, cargo: &mut Cargo, ready: &Ready) {
        match ready {
            Ready::Counter(identity, Some(counter)) => {
                cargo.heap_bytes += counter.state.heap_bytes();
                let is_new = !self.table.contains(*identity);
                *cargo.keys.entry(counter.limit).or_default() += usize::from(is_new);
            }
            Ready::Reservation(name, Some(_)) => cargo.reservations += usize::from(!self.reservations.contains(*name)),
            Ready::Counter(_, None) | Ready::Reservation(_, None) => {}
        }
    }

    fn intern_all(&mut self, batch: &Batch) -> Result<Vec<LimitId>, LimitsFull> {
        let mut limits = Vec::with_capacity(batch.limits.len());
        for named in &batch.limits {
            match self.intern(&named.rule, named.limit) {
                Ok(limit) => limits.push(limit),
                Err(full) => {
                    limits.into_iter().for_each(|limit| self.release(limit));
                    return Err(full);
                }
            }
        }
        Ok(limits)
    }

    /// Whether a whole batch finds room, before anything of it replaces anything.
    fn room_for_cargo(&mut self, cargo: &Cargo, batch: &Batch, limits: &[LimitId]) -> Result<(), Full> {
        while !self.reservations.has_room(cargo.reservations) {
            self.expire_reservation(self.latest).ok_or(Full)?;
        }
        let keys = cargo.keys.values().sum::<usize>();
        let grown = if self.table.bytes_for(keys) == 0 { 0 } else { (keys * KEY_BYTES).next_multiple_of(CHUNK_BYTES) };
        let fits = self.table.len() + keys <= ENTRIES_MAX
            && self.bytes() + cargo.heap_bytes + grown <= self.bounds.bytes_max
            && self.rules_have_room(cargo, batch, limits);
        if (keys, cargo.heap_bytes) == (0, 0) || fits { Ok(()) } else { Err(Full) }
    }

    fn rules_have_room(&self, cargo: &Cargo, batch: &Batch, limits: &[LimitId]) -> bool {
        let mut by_rule: BTreeMap<&str, (LimitId, usize)> = BTreeMap::new();
        for (&limit, keys) in &cargo.keys {
            by_rule.entry(&batch.limits[limit].rule).or_insert((limits[limit], 0)).1 += keys;
        }
        by_rule.into_values().all(|(limit, keys)| self.limits.has_room(limit, keys as u64))
    }

    fn keep_cargo(&mut self, intake: &mut Intake, cargo: Cargo, batch: &Batch, limits: &[LimitId]) -> Imported {
        let replaced = cargo.records.len();
        intake.took(batch.version, cargo.records.iter().map(Ready::name));
        for ready in cargo.records {
            match ready {
                Ready::Counter(identity, counter) => {
                    let no = self.replace_counter(identity, counter, limits, batch.read_at);
                    intake.seen_mut().zip(no).into_iter().for_each(|(seen, no)| seen.add_entry(no));
                }
                Ready::Reservation(name, reservation) => {
                    self.replace_reservation(name, reservation, limits);
                    intake.seen_mut().into_iter().for_each(|seen| seen.add_reservation(name));
                }
            }
        }
        Imported { replaced, older: batch.records.len() - replaced }
    }

    fn replace_counter(
        &mut self,
        identity: Identity,
        counter: Option<ReadyCounter>,
        limits: &[LimitId],
        read_at: Timestamp,
    ) -> Option<EntryNo> {
        if let Some(Found { no, .. }) = self.table.find(identity) {
            self.remove(no);
        }
        let ReadyCounter { limit, state } = counter?;
        let whole_at_us = state.whole_at_us(read_at);
        let words = state.store(&mut self.side);
        Some(self.enter(identity, Entry { limit: limits[limit], words }, whole_at_us))
    }

    fn replace_reservation(&mut self, name: Identity, reservation: Option<Box<ReservationState>>, limits: &[LimitId]) {
        self.end_reservation(name);
        if let Some(reservation) = reservation {
            let ReservationState { counter, limit, charged, charged_at, decision, until_us } = *reservation;
            let limit = limits[limit as usize];
            self.limits.hold(limit);
            self.reservations.insert(name, Reservation { counter, limit, charged, charged_at, decision, until_us });
        }
    }
}

impl Ready {
    fn name(&self) -> Name {
        match *self {
            Ready::Counter(identity, _) => Name::Counter(identity),
            Ready::Reservation(name, _) => Name::Reservation(name),
        }
    }
}

impl ReadyState {
    fn heap_bytes(&self) -> usize {
        match self {
            ReadyState::Budget(counter) => counter.heap_bytes(),
            ReadyState::Slots(holders) => holders.heap_bytes(),
        }
    }

    fn whole_at_us(&self, read_at: Timestamp) -> u64 {
        match self {
            ReadyState::Budget(counter) => counter.whole_at_us(read_at),
            ReadyState::Slots(holders) => holders.until_us().unwrap_or_default(),
        }
    }

    fn store(self, side: &mut Side) -> Words {
        match self {
            ReadyState::Budget(counter) => counter.store(None, side),
            ReadyState::Slots(holders) => holders.store(None, side),
        }
    }
}

impl Batch {
    /// Whether an engine may have written every record of it: for whoever has several batches and wants to know before
    /// the first one is taken in. [`import`](Engine::import) asks the same.
    ///
    /// # Errors
    /// [`ImportError::Malformed`], the first record that no engine writes.
    pub fn check(&self) -> Result<(), ImportError> {
        self.records.iter().enumerate().try_for_each(|(no, record)| numbered(no, make_ready(self, record)).map(|_| ()))
    }
}

/// What is wrong with a batch whatever its records say.
fn reject_unsound(now: Timestamp, batch: &Batch) -> Result<(), ImportError> {
    let ahead_us = batch.read_at.as_micros().saturating_sub(now.as_micros());
    match batch.records.len() {
        _ if ahead_us > AHEAD_US_MAX => Err(ImportError::TooFarAhead { ahead_us }),
        records if records > BATCH_RECORDS_MAX => Err(ImportError::TooLong { records }),
        _ => Ok(()),
    }
}

/// Says which record is malformed.
fn numbered<T>(record: usize, ready: Result<T, Malformed>) -> Result<T, ImportError> {
    ready.map_err(|Malformed(what)| ImportError::Malformed { record, what })
}

fn make_ready(batch: &Batch, record: &Record) -> Result<Ready, Malformed> {
    match record {
        Record::Counter { identity, counter } => {
            let counter = counter.as_ref().map(|counter| make_counter(batch, counter)).transpose()?;
            Ok(Ready::Counter(*identity, counter))
        }
        Record::Reservation { name, reservation } => {
            if let Some(reservation) = reservation {
                check_reservation(batch, *name, reservation)?;
            }
            Ok(Ready::Reservation(*name, reservation.clone()))
        }
    }
}

fn make_counter(batch: &Batch, counter: &CounterState) -> Result<ReadyCounter, Malformed> {
    let limit = limit_of(batch, counter.limit)?;
    let state = match limit.algorithm() {
        Algorithm::Concurrency => ReadyState::Slots(Holders::import(&counter.state, batch.read_at)?),
        _ => ReadyState::Budget(Box::new(AnyCounter::import(&counter.state, limit, batch.read_at)?)),
    };
    Ok(ReadyCounter { limit: counter.limit as usize, state })
}

/// What a settlement takes for granted.
fn check_reservation(batch: &Batch, name: Identity, reservation: &ReservationState) -> Result<(), Malformed> {
    let ReservationState { counter, limit, charged, charged_at, decision, until_us } = reservation;
    let limit = limit_of(batch, *limit)?;
    Malformed::unless(limit.algorithm() != Algorithm::Concurrency, "a reservation's algorithm")?;
    Malformed::unless(counter.placement == name.placement, "a reservation's placement")?;
    Malformed::unless(*charged <= UNITS_MAX, "a reservation's units")?;
    let is_repeatable = decision.allowed && decision.retry_after == Wait::NOW;
    Malformed::unless(is_repeatable, "a reservation's decision")?;
    let read_at_us = batch.read_at.as_micros();
    let live_us = read_at_us + 1..=read_at_us + RESERVATION_TTL_US_MAX;
    Malformed::unless(*charged_at <= batch.read_at && live_us.contains(until_us), "a reservation's instants")
}

fn limit_of(batch: &Batch, place: u32) -> Result<&Limit, Malformed> {
    let named = batch.limits.get(place as usize).ok_or(Malformed("a limit's place"))?;
    Ok(&named.limit)
}
