//! The sliding counter: the current window's count, and the one before it fading out as the current one passes.
//!
//! With `passed` microseconds of the current window gone, `est·W = prev·(W - passed) + cur·W`, kept whole: no fraction is
//! ever rounded on the way to a decision. Widths: counts are below 2^64 and `W` below 2^45, so `est·W` is below 2^110.

use super::counts::Counts;
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
        let Counts { window: index, current, previous } = Counts::load(words, side);
        let mut counter = SlidingCounter::whole(limit, now);
        match counter.index.saturating_sub(index) {
            0 => (counter.current, counter.previous) = (current, previous),
            1 => counter.previous = current,
            _ => {}
        }
        counter
    }

    fn store(self, before: Option<Words>, side: &mut Side) -> Words {
        Counts { window: self.index, current: self.current, previous: self.previous }.store(before, side)
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
