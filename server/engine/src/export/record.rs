//! One key's state as it travels, and the batch that it travels in.

use super::state::State;
use super::version::Version;
use crate::decision::Decision;
use crate::identity::Identity;
use crate::limit::Limit;
use crate::time::Timestamp;

/// Records in one batch: as many as an engine notes changes, so that all of them can go together.
pub const BATCH_RECORDS_MAX: usize = 1 << 16;

/// What one engine read at one instant: taken in whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Which of two batches that speak of one key is the newer.
    pub version: Version,
    /// The engine's time when it read: every state is as of this instant.
    pub read_at: Timestamp,
    /// The limits that the records stand under; they name them by their place in this list.
    pub limits: Vec<RuleLimit>,
    /// At most one for each name.
    pub records: Vec<Record>,
}

/// A limit under the name of its rule, as it was interned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLimit {
    /// The rule's name; empty for a limit of no rule.
    pub rule: Box<str>,
    /// The numbers.
    pub limit: Limit,
}

/// What became of one key's counter, or of one reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A key's counter under one algorithm.
    Counter {
        /// Whose.
        identity: Identity,
        /// What it counts; `None`: it is gone, the key has its whole budget.
        counter: Option<CounterState>,
    },
    /// A reservation.
    Reservation {
        /// Its name, under the key's placement.
        name: Identity,
        /// What was reserved; `None`: it is settled.
        reservation: Option<Box<ReservationState>>,
    },
}

/// A counter that is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterState {
    /// The limit that it was stored with: a place in [`Batch::limits`].
    pub limit: u32,
    /// What it counts.
    pub state: State,
}

/// A reservation that is neither settled nor expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationState {
    /// The counter that was charged.
    pub counter: Identity,
    /// The limit that it was charged under: a place in [`Batch::limits`].
    pub limit: u32,
    /// Units that were charged.
    pub charged: u64,
    /// When.
    pub charged_at: Timestamp,
    /// What was answered, for a caller who asks again.
    pub decision: Decision,
    /// The first microsecond, since the epoch, at which it has expired.
    pub until_us: u64,
}

/// Whom a record speaks of. Counters and reservations are named apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Counter(Identity),
    Reservation(Identity),
}

impl Name {
    /// The place on the ring of the key that it speaks of.
    pub(crate) fn placement(self) -> u64 {
        self.identity().placement
    }

    pub(crate) fn identity(self) -> Identity {
        match self {
            Name::Counter(identity) | Name::Reservation(identity) => identity,
        }
    }
}

impl Record {
    /// The place on the ring of the key that it speaks of.
    pub fn placement(&self) -> u64 {
        match *self {
            Record::Counter { identity, .. } => identity.placement,
            Record::Reservation { name, .. } => name.placement,
        }
    }

    pub(crate) fn name(&self) -> Name {
        match *self {
            Record::Counter { identity, .. } => Name::Counter(identity),
            Record::Reservation { name, .. } => Name::Reservation(name),
        }
    }
}

impl Batch {
    /// Keeps those records whose placement passes, as a reader does whose shards are cut otherwise than the writer's.
    ///
    /// The parts of one `check_all` have one tag and so one placement: they stay together.
    pub fn retain(&mut self, keeps: impl Fn(u64) -> bool) {
        self.records.retain(|record| keeps(record.placement()));
    }
}
