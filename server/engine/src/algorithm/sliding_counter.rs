//! The sliding counter: the current window's count, and the one before it fading out as the current one passes.
//!
//! With `passed` microseconds of the current window gone, `est·W = prev·(W - passed) + cur·W`, kept whole: no fraction is
//! ever rounded on the way to a decision. Widths: counts are below 2^64 and `W` below 2^45, so `est·W` is below 2^110.

use super::{Budget, Counter, Words};
use crate::division::{div_ceil, div_floor};
use crate::export::state::{Malformed, Portable, State};
use crate::limit::Limit;
use crate::side::Side;
use crate::time::Timestamp;

/// Two counts at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlidingCounter {
    now_us: u64,
    limit: u64,
    period_us: u64,
    index: u64,
    current: u64,
    previous: u64,
}

impl SlidingCounter {
    fn counting(limit: &Limit, now: Timestamp, current: u64) -> SlidingCounter {
        let (now_us, period_us) = (now.as_micros(), limit.period_us());
        SlidingCounter { now_us, limit: limit.limit(), period_us, index: now_us / period_us, current, previous: 0 }
    }

    /// Microseconds until the current window ends.
    fn left_us(&self) -> u64 {
        self.period_us - self.now_us % self.period_us
    }

    fn scaled(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.period_us)
    }

    /// The estimate, times the period.
    fn estimate(&self) -> u128 {
        u128::from(self.previous) * u128::from(self.left_us()) + self.scaled(self.current)
    }

    /// The largest part of a window, in microseconds from its end, for which `fading` units weigh at most `room`.
    fn longest_left(&self, room: u64, fading: u64) -> u128 {
        div_floor(self.scaled(room), fading.max(1))
    }

    /// The count that units charged at `at` went into, if it still counts.
    fn count_at(&mut self, at: Timestamp) -> Option<&mut u64> {
        match at.as_micros() / self.period_us {
            index if index == self.index => Some(&mut self.current),
            index if index + 1 == self.index => Some(&mut self.previous),
            _ => None,
        }
    }

    /// Frees what an entry keeps aside.
    pub(crate) fn free(words: Words, side: &mut Side) {
        Stored::free(words, side);
    }
}

impl Budget for SlidingCounter {
    fn ceiling(&self) -> u64 {
        self.limit
    }

    fn remaining(&self) -> u64 {
        div_floor(self.scaled(self.limit).saturating_sub(self.estimate()), self.period_us) as u64
    }

    fn fits(&self, units: u64) -> bool {
        self.estimate() + self.scaled(units) <= self.scaled(self.limit)
    }

    /// While the current count leaves room, the previous one fades until it fits; else the windows roll first, and the
    /// current count fades as the previous one of the next window.
    fn wait_until_fits(&self, units: u64) -> u128 {
        let left_us = u128::from(self.left_us());
        let room = self.limit - units;
        match room.checked_sub(self.current) {
            Some(room) => left_us.saturating_sub(self.longest_left(room, self.previous)),
            None => left_us + u128::from(self.period_us) - self.longest_left(room, self.current),
        }
    }

    fn wait_until_whole(&self) -> u128 {
        let left_us = u128::from(self.left_us());
        match (self.current, self.previous) {
            (0, 0) => 0,
            (0, _) => left_us,
            _ => left_us + u128::from(self.period_us),
        }
    }

    fn charge(&mut self, units: u64) {
        self.current = self.current.saturating_add(units);
    }
}

impl Counter for SlidingCounter {
    fn whole(limit: &Limit, now: Timestamp) -> SlidingCounter {
        SlidingCounter::counting(limit, now, 0)
    }

    fn load(words: Words, limit: &Limit, now: Timestamp, side: &mut Side) -> SlidingCounter {
        let Stored { index, current, previous } = Stored::read(words, side);
        let mut counter = SlidingCounter::whole(limit, now);
        match counter.index.saturating_sub(index) {
            0 => (counter.current, counter.previous) = (current, previous),
            1 => counter.previous = current,
            _ => {}
        }
        counter
    }

    fn store(self, before: Option<Words>, side: &mut Side) -> Words {
        if let Some(words) = before {
            Stored::free(words, side);
        }
        Stored { index: self.index, current: self.current, previous: self.previous }.write(side)
    }

    /// Under another period the estimate, rounded up, becomes the current count: never less than what was used.
    fn convert(self, to: &Limit) -> SlidingCounter {
        if to.period_us() == self.period_us {
            return SlidingCounter { limit: to.limit(), ..self };
        }
        let used = div_ceil(self.estimate(), self.period_us);
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        SlidingCounter::counting(to, Timestamp::from_micros(self.now_us), used)
    }

    fn refund(&mut self, units: u64, charged_at: Option<Timestamp>) {
        let count = match charged_at {
            None => Some(&mut self.current),
            Some(at) => self.count_at(at),
        };
        if let Some(count) = count {
            *count = count.saturating_sub(units);
        }
    }

    fn charge_late(&mut self, units: u64, charged_at: Timestamp) {
        if let Some(count) = self.count_at(charged_at) {
            *count = count.saturating_add(units);
        }
    }
}

impl Portable for SlidingCounter {
    fn export(&self) -> State {
        let start_us = self.index * self.period_us;
        State::SlidingCounter { start_us, current: self.current, previous: self.previous }
    }

    fn import(state: &State, limit: &Limit, at: Timestamp) -> Result<SlidingCounter, Malformed> {
        let &State::SlidingCounter { start_us, current, previous } = state else { return Err(Malformed::ALGORITHM) };
        let counter = SlidingCounter { previous, ..SlidingCounter::counting(limit, at, current) };
        Malformed::unless(counter.index * counter.period_us == start_us, "a sliding counter's window")?;
        Ok(counter)
    }
}

/// The state as it is kept: in the entry's two words where it fits, else aside.
///
/// In the entry: 47 bits of window index and 40 bits for each count, which holds every limit, and every period of 64 µs
/// and more. Shorter periods, and counts that settling pushed far over their limit, are kept aside; the top bit says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stored {
    index: u64,
    current: u64,
    previous: u64,
}

const COUNT_BITS: u32 = 40;
const INDEX_BITS: u32 = 47;
const ASIDE: u128 = 1 << 127;

impl Stored {
    fn fits(self) -> bool {
        self.index < 1 << INDEX_BITS && self.current < 1 << COUNT_BITS && self.previous < 1 << COUNT_BITS
    }

    fn write(self, side: &mut Side) -> Words {
        let packed = if self.fits() {
            u128::from(self.index) << (2 * COUNT_BITS)
                | u128::from(self.current) << COUNT_BITS
                | u128::from(self.previous)
        } else {
            ASIDE | u128::from(side.counters.insert([self.index, self.current, self.previous]))
        };
        [packed as u64, (packed >> 64) as u64]
    }

    fn read(words: Words, side: &mut Side) -> Stored {
        if let Some(no) = Stored::aside(words) {
            let [index, current, previous] = *side.counters.get_mut(no);
            return Stored { index, current, previous };
        }
        let packed = unpack(words);
        let count = |shift: u32| (packed >> shift) as u64 & ((1 << COUNT_BITS) - 1);
        Stored { index: (packed >> (2 * COUNT_BITS)) as u64, current: count(COUNT_BITS), previous: count(0) }
    }

    fn free(words: Words, side: &mut Side) {
        if let Some(no) = Stored::aside(words) {
            side.counters.remove(no);
        }
    }

    fn aside(words: Words) -> Option<u32> {
        let packed = unpack(words);
        (packed & ASIDE != 0).then_some(packed as u32)
    }
}

fn unpack(words: Words) -> u128 {
    u128::from(words[1]) << 64 | u128::from(words[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_numbers_are_kept_aside_and_come_back_whole() {
        let mut side = Side::default();
        let big = (1 << COUNT_BITS) - 1;
        for (index, current, previous, aside) in [
            (0, 0, 0, false),
            ((1 << INDEX_BITS) - 1, big, big, false),
            (1 << INDEX_BITS, 1, 2, true),
            (1, big + 1, 2, true),
            (1, 2, big + 1, true),
            ((1 << 53) - 1, u64::MAX, u64::MAX, true),
        ] {
            let stored = Stored { index, current, previous };
            let words = stored.write(&mut side);
            assert_eq!(Stored::aside(words).is_some(), aside);
            assert_eq!(Stored::read(words, &mut side), stored);
            Stored::free(words, &mut side);
        }
        assert_eq!(side.counters.len(), 0);
    }
}
