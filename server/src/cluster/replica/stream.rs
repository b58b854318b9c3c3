//! One stream: what one replica is told of one shard, what it has acknowledged, and what is kept in case it asks again.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use bytes::Bytes;
use tallyring_engine::{Batch, Cursor, Engine, Placements, Record, Timestamp, Version};

use super::flush::{FLUSH_BYTES_MAX, Flush, Stage};

/// Bytes that are kept until they are acknowledged: with one flush more, all that a replica that is away can cost.
/// At a million changed keys a second and 30 bytes each it is half a second.
pub const KEPT_BYTES_MAX: usize = 16 << 20;

/// Flushes that are kept until they are acknowledged: two and a half seconds of one every 2.5 milliseconds. Few in tests.
pub const KEPT_FLUSHES_MAX: usize = if cfg!(test) { 6 } else { 1_000 };

/// Unacknowledged bytes from which on a fill waits, so that what changes has room behind it.
pub const FILL_BYTES_AHEAD_MAX: usize = 1 << 20;

/// Records of one step of a fill: some half a millisecond of the shard's time. Few in tests.
pub const FILL_RECORDS_MAX: usize = if cfg!(test) { 2 } else { 4_096 };

/// The number of a reading: of the source's looks at what has changed, counted from 1.
pub type Reading = u64;

/// The owner's end of the stream to one replica.
///
/// Its life: it *needs* a fill; connected, it *fills*, and what changes meanwhile goes along; when the end of the fill is
/// acknowledged, the replica is *whole*. A connection that is lost is resumed where the replica says it stands, if
/// everything behind that is still kept; else it starts over.
#[derive(Debug)]
pub struct Stream {
    within: Placements,
    fill: Fill,
    is_connected: bool,
    /// What is not acknowledged, oldest first.
    kept: VecDeque<Kept>,
    kept_bytes: usize,
    /// How many of those have been handed out over this connection.
    sent: usize,
    /// The last flush that was kept.
    last: Version,
    /// The last flush that was acknowledged.
    acknowledged: Version,
    /// What the last flush that was kept completes, and the last that was acknowledged.
    told: Mark,
    arrived: Mark,
    /// The last reading that was not told in full: only the end of the fill makes up for it.
    untold: Reading,
    fills: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Needed,
    From(Cursor),
    /// All is read; the end is yet to be told, or to be acknowledged.
    Read,
    Told,
    Done,
}

#[derive(Debug)]
struct Kept {
    version: Version,
    bytes: Bytes,
    ends_fill: bool,
    /// Nothing in it changed before this instant.
    since: Timestamp,
    mark: Mark,
}

/// How far a replica is once it has a flush.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// The last reading that it then has all of.
    pub(super) reading: Reading,
    /// What [`Engine::units_charged`] was at that reading.
    pub(super) units: u64,
}

/// How far a whole replica is behind its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Age of the oldest change that it has not acknowledged, at most; 0 if there is none.
    pub us: u64,
    /// Units that were charged since the last reading that it has acknowledged: after a crash now, its budgets would admit
    /// at most so many units too many, all of them together.
    pub units: u64,
}

impl Stream {
    /// To a replica that is to hold what the source has `within`.
    pub(super) fn new(within: Placements) -> Stream {
        Stream {
            within,
            fill: Fill::Needed,
            is_connected: false,
            kept: VecDeque::new(),
            kept_bytes: 0,
            sent: 0,
            last: Version::NONE,
            acknowledged: Version::NONE,
            told: Mark::default(),
            arrived: Mark::default(),
            untold: 0,
            fills: 0,
        }
    }

    /// The next bytes to write: one flush; `None` if there are none, or no connection.
    pub fn next_to_send(&mut self) -> Option<Bytes> {
        let kept = self.kept.get(self.sent).filter(|_| self.is_connected)?;
        self.sent += 1;
        Some(kept.bytes.clone())
    }

    /// The replica has everything through `position`. What is not on its way means nothing.
    pub fn acknowledge(&mut self, position: Version) {
        let is_on_its_way = self.kept.iter().take(self.sent).any(|kept| kept.version == position);
        if is_on_its_way {
            self.forget_through(position);
        }
    }

    /// The connection is lost. What is not acknowledged is kept, while there is room.
    pub fn disconnect(&mut self) {
        self.is_connected = false;
        self.sent = 0;
    }

    /// The readings that the replica has all of: replies that wait for one of them may go. Empty if it has none.
    pub fn arrived(&self) -> RangeInclusive<Reading> {
        match self.fill {
            Fill::Needed => RangeInclusive::new(1, 0),
            Fill::From(_) | Fill::Read | Fill::Told => self.untold + 1..=self.arrived.reading,
            Fill::Done => 0..=self.arrived.reading,
        }
    }

    /// Whether the replica has everything that it has acknowledged nothing behind of: if the owner dies, it can go on.
    pub fn is_whole(&self) -> bool {
        self.fill == Fill::Done
    }

    /// Fills begun, ever: each but the first because something was not kept.
    pub fn fills(&self) -> u64 {
        self.fills
    }

    /// Bytes kept.
    pub fn bytes(&self) -> usize {
        self.kept_bytes
    }

    /// A connection is there, to a replica that stands at `position`: it goes on from there if it can, else fills.
    pub(super) fn connect(&mut self, position: Version, readings: Reading) {
        self.is_connected = true;
        self.sent = 0;
        let is_known = position == self.acknowledged || self.kept.iter().any(|kept| kept.version == position);
        if self.fill == Fill::Needed || !is_known {
            self.start_over(readings);
        } else {
            self.forget_through(position);
        }
    }

    pub(super) fn within(&self) -> &Placements {
        &self.within
    }

    /// The replica is to hold another range.
    pub(super) fn reassign(&mut self, within: Placements, readings: Reading) {
        self.within = within;
        self.start_over(readings);
    }

    /// Begins again with the first key; the `readings` so far are told with the fill alone.
    pub(super) fn start_over(&mut self, readings: Reading) {
        self.kept.clear();
        self.kept_bytes = 0;
        self.sent = 0;
        self.untold = readings;
        self.fill = if self.is_connected { Fill::From(Cursor::START) } else { Fill::Needed };
        self.fills += u64::from(self.is_connected);
    }

    /// Whether it matters what changes.
    pub(super) fn is_told(&self) -> bool {
        self.fill != Fill::Needed
    }

    /// Whether the replica was told of a fill: before that, what changes is told with it.
    fn has_begun(&self) -> bool {
        self.is_told() && self.fill != Fill::From(Cursor::START)
    }

    /// Reads the next part of a fill, if it is time for it.
    pub(super) fn go_on_filling(&mut self, engine: &mut Engine, now: Timestamp, readings: Reading) {
        let Fill::From(cursor) = self.fill else { return };
        if !self.is_connected || self.kept_bytes >= FILL_BYTES_AHEAD_MAX {
            return;
        }
        let stage = if cursor == Cursor::START { Stage::FillBegins } else { Stage::Goes };
        let (batch, next) = engine.export(now, &self.within, cursor, FILL_RECORDS_MAX);
        self.fill = next.map_or(Fill::Read, Fill::From);
        self.keep(stage, batch, now, readings);
    }

    /// Whether the last part of a fill has been read, and its end is yet to be told.
    pub(super) fn is_read(&self) -> bool {
        self.fill == Fill::Read
    }

    /// Tells the end of a fill, behind all that changed while it ran; `batch` is empty.
    pub(super) fn end_filling(&mut self, batch: Batch, readings: Reading) {
        self.fill = Fill::Told;
        let now = batch.read_at;
        self.keep(Stage::FillEnds, batch, now, readings);
    }

    /// Tells what of a batch is this replica's, if anything is. Nothing in it changed before `since`.
    pub(super) fn tell(&mut self, batch: &Batch, since: Timestamp, readings: Reading) {
        if !self.has_begun() {
            return;
        }
        let is_mine = |record: &&Record| self.within.contains(record.placement());
        let records: Vec<Record> = batch.records.iter().filter(is_mine).cloned().collect();
        if !records.is_empty() {
            let limits = batch.limits.clone();
            self.keep(Stage::Goes, Batch { limits, records, ..*batch }, since, readings);
        }
    }

    /// Everything of a reading has been told.
    pub(super) fn complete(&mut self, mark: Mark) {
        if !self.has_begun() {
            self.untold = mark.reading;
            return;
        }
        self.told = mark;
        match self.kept.back_mut() {
            Some(last) => last.mark = mark,
            None => self.arrived = mark,
        }
    }

    /// How far the replica is behind a source that read last at `read_at`; `None` if it is not whole.
    pub(super) fn lag(&self, engine: &Engine, now: Timestamp, read_at: Timestamp) -> Option<Lag> {
        if !self.is_whole() {
            return None;
        }
        let since = match self.kept.front() {
            Some(oldest) => oldest.since,
            None if engine.has_changes() => read_at,
            None => now,
        };
        let us = now.as_micros().saturating_sub(since.as_micros());
        Some(Lag { us, units: engine.units_charged().wrapping_sub(self.arrived.units) })
    }

    /// The last flush that was kept.
    #[cfg(test)]
    pub(super) fn last(&self) -> Version {
        self.last
    }

    fn keep(&mut self, stage: Stage, batch: Batch, since: Timestamp, readings: Reading) {
        let version = batch.version;
        let bytes = Bytes::from(Flush { stage, follows: self.last, batch }.encode());
        if !self.has_room(bytes.len()) {
            return self.start_over(readings);
        }
        self.kept_bytes += bytes.len();
        self.last = version;
        self.kept.push_back(Kept { version, bytes, ends_fill: stage == Stage::FillEnds, since, mark: self.told });
    }

    /// The first flush has room whatever its length, so that a long one passes too.
    fn has_room(&self, bytes: usize) -> bool {
        let fits = self.kept_bytes + bytes <= KEPT_BYTES_MAX && self.kept.len() < KEPT_FLUSHES_MAX;
        bytes <= FLUSH_BYTES_MAX && (self.kept.is_empty() || fits)
    }

    fn forget_through(&mut self, position: Version) {
        while let Some(kept) = self.kept.pop_front_if(|kept| kept.version <= position) {
            self.kept_bytes -= kept.bytes.len();
            self.sent = self.sent.saturating_sub(1);
            self.acknowledged = kept.version;
            self.arrived = kept.mark;
            if kept.ends_fill {
                self.fill = Fill::Done;
            }
        }
    }
}
