//! The sliding log: the units admitted in the last period, instant by instant.
//!
//! Only what was admitted is kept, so that a rejection costs no memory, and it is kept in blocks with sums, so that a
//! rejection, a trim and a retry time do not walk it.

pub(crate) mod block;
pub(crate) mod log;

use self::block::Admitted;
use self::log::{Log, UNITS_HELD_MAX};
use super::{Budget, Counter, Words};
use crate::export::state::{Malformed, Portable, State};
use crate::limit::{LOG_UNITS_MAX, Limit};
use crate::side::Side;
use crate::time::Timestamp;

/// A log at one instant, taken out of its store while it is looked at.
#[derive(Debug)]
pub(crate) struct SlidingLog {
    log: Log,
    now_us: u64,
    limit: u64,
    period_us: u64,
    /// Entries up to this instant have left, though a conversion that was only looked at may still hold them.
    horizon_us: Option<u64>,
    /// The units of those entries.
    gone: u64,
}

impl SlidingLog {
    fn holding(log: Log, limit: &Limit, now: Timestamp) -> SlidingLog {
        let (now_us, period_us) = (now.as_micros(), limit.period_us());
        // Before one period after the epoch nothing can have left.
        let horizon_us = now_us.checked_sub(period_us);
        SlidingLog { log, now_us, limit: limit.limit(), period_us, horizon_us, gone: 0 }
    }

    fn used(&self) -> u64 {
        self.log.units() - self.gone
    }

    fn has_left(&self, at_us: u64) -> bool {
        self.horizon_us.is_some_and(|horizon_us| at_us <= horizon_us)
    }

    fn wait_until_gone(&self, at_us: u64) -> u128 {
        u128::from(at_us + self.period_us - self.now_us)
    }

    fn put_back(self, words: Words, side: &mut Side) {
        side.heap_bytes += self.log.heap_bytes();
        *side.logs.get_mut(slab_no(words)) = self.log;
    }

    /// Frees what an entry keeps aside.
    pub(crate) fn free(words: Words, side: &mut Side) {
        let log = side.logs.remove(slab_no(words));
        side.heap_bytes -= log.heap_bytes();
    }
}

impl Budget for SlidingLog {
    fn ceiling(&self) -> u64 {
        self.limit
    }

    fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }

    fn fits(&self, units: u64) -> bool {
        self.used().saturating_add(units) <= self.limit
    }

    fn wait_until_fits(&self, units: u64) -> u128 {
        let excess = self.used() + units - self.limit;
        self.wait_until_gone(self.log.instant_of_unit(self.gone + excess))
    }

    fn wait_until_whole(&self) -> u128 {
        match self.used() {
            0 => 0,
            _ => self.wait_until_gone(self.log.newest_us()),
        }
    }

    fn charge(&mut self, units: u64) {
        self.log.admit(self.now_us, units);
    }
}

impl Counter for SlidingLog {
    fn whole(limit: &Limit, now: Timestamp) -> SlidingLog {
        SlidingLog::holding(Log::default(), limit, now)
    }

    fn load(words: Words, limit: &Limit, now: Timestamp, side: &mut Side) -> SlidingLog {
        let log = std::mem::take(side.logs.get_mut(slab_no(words)));
        side.heap_bytes -= log.heap_bytes();
        let mut counter = SlidingLog::holding(log, limit, now);
        if let Some(horizon_us) = counter.horizon_us {
            counter.log.trim(horizon_us);
        }
        counter
    }

    fn leave(self, words: Words, side: &mut Side) {
        self.put_back(words, side);
    }

    fn store(mut self, before: Option<Words>, side: &mut Side) -> Words {
        if let Some(horizon_us) = self.horizon_us {
            self.log.trim(horizon_us);
        }
        let words = before.unwrap_or_else(|| Words::of(side.logs.insert(Log::default()).into()));
        self.put_back(words, side);
        words
    }

    fn grows(&self) -> bool {
        true
    }

    /// What left under the old period is gone; the rest is judged by the new one.
    fn convert(self, to: &Limit) -> SlidingLog {
        let before_us = self.horizon_us;
        let mut counter = SlidingLog::holding(self.log, to, Timestamp::from_micros(self.now_us));
        counter.horizon_us = counter.horizon_us.max(before_us);
        counter.gone = counter.horizon_us.map_or(0, |horizon_us| counter.log.units_until(horizon_us));
        counter
    }

    fn refund(&mut self, units: u64, charged_at: Option<Timestamp>) {
        match charged_at.map(Timestamp::as_micros) {
            None => self.log.take_newest(units.min(self.used())),
            Some(at_us) if !self.has_left(at_us) => self.log.take_from(at_us, units),
            Some(_) => {}
        }
    }

    /// Into the entry of that instant, if there still is one.
    fn charge_late(&mut self, units: u64, charged_at: Timestamp) {
        let at_us = charged_at.as_micros();
        if !self.has_left(at_us) {
            self.log.add_to(at_us, units);
        }
    }
}

impl Portable for SlidingLog {
    fn export(&self) -> State {
        State::SlidingLog { admitted: self.log.entries().collect() }
    }

    fn import(state: &State, limit: &Limit, at: Timestamp) -> Result<SlidingLog, Malformed> {
        let State::SlidingLog { admitted } = state else { return Err(Malformed::ALGORITHM) };
        let mut counter = SlidingLog::whole(limit, at);
        counter.check_entries(admitted)?;
        admitted.iter().for_each(|entry| counter.log.admit(entry.at_us, entry.units));
        Ok(counter)
    }

    fn heap_bytes(&self) -> usize {
        self.log.heap_bytes()
    }
}

impl SlidingLog {
    /// Whether a log may hold these: as many as there may be, each later than the one before, none that has left or is
    /// yet to come.
    fn check_entries(&self, admitted: &[Admitted]) -> Result<(), Malformed> {
        Malformed::unless(admitted.len() as u64 <= LOG_UNITS_MAX, "a log's length")?;
        let ascend = admitted.windows(2).all(|pair| pair[0].at_us < pair[1].at_us);
        let oldest = admitted.first().is_none_or(|entry| !self.has_left(entry.at_us));
        let newest = admitted.last().is_none_or(|entry| entry.at_us <= self.now_us);
        Malformed::unless(ascend && oldest && newest, "a log's instants")?;
        let held = |sum: u64, entry: &Admitted| sum.checked_add(entry.units).filter(|sum| *sum <= UNITS_HELD_MAX);
        let units = admitted.iter().try_fold(0, held);
        Malformed::unless(units.is_some() && admitted.iter().all(|entry| entry.units > 0), "a log's units")
    }
}

fn slab_no(words: Words) -> u32 {
    words.bits() as u32
}
