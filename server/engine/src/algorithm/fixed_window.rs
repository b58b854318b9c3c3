//! The fixed window: a count that starts again when its window ends.
//!
//! A window is known by its end, so that "is this state still current" is one comparison, for a period and for a calendar.

use super::counts::Counts;
use super::{Budget, Counter, Words};
use crate::export::state::{Malformed, Portable, State};
use crate::limit::Limit;
use crate::side::Side;
use crate::time::Timestamp;
use crate::window;

/// A count in the window that is current at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedWindow {
    limit: Limit,
    now: Timestamp,
    end_us: u64,
    count: u64,
}

impl FixedWindow {
    fn counting(limit: &Limit, now: Timestamp, count: u64) -> FixedWindow {
        FixedWindow { limit: *limit, now, end_us: window::end_us(limit, now), count }
    }

    fn until_end_us(&self) -> u128 {
        u128::from(self.end_us - self.now.as_micros())
    }

    fn is_current(&self, charged_at: Option<Timestamp>) -> bool {
        charged_at.is_none_or(|at| window::end_us(&self.limit, at) == self.end_us)
    }
}

impl Budget for FixedWindow {
    fn ceiling(&self) -> u64 {
        self.limit.limit()
    }

    fn remaining(&self) -> u64 {
        self.limit.limit().saturating_sub(self.count)
    }

    fn fits(&self, units: u64) -> bool {
        self.count.saturating_add(units) <= self.limit.limit()
    }

    fn wait_until_fits(&self, _units: u64) -> u128 {
        self.until_end_us()
    }

    fn wait_until_whole(&self) -> u128 {
        if self.count == 0 { 0 } else { self.until_end_us() }
    }

    fn charge(&mut self, units: u64) {
        self.count = self.count.saturating_add(units);
    }
}

impl Counter for FixedWindow {
    fn whole(limit: &Limit, now: Timestamp) -> FixedWindow {
        FixedWindow::counting(limit, now, 0)
    }

    fn load(words: Words, limit: &Limit, now: Timestamp, side: &mut Side) -> FixedWindow {
        let Counts { window: end_us, current: count, .. } = Counts::load(words, side);
        if now.as_micros() < end_us {
            FixedWindow { limit: *limit, now, end_us, count }
        } else {
            FixedWindow::whole(limit, now)
        }
    }

    fn store(self, before: Option<Words>, side: &mut Side) -> Words {
        Counts { window: self.end_us, current: self.count, previous: 0 }.store(before, side)
    }

    /// The count moves into the window that is current under the new cut.
    fn convert(self, to: &Limit) -> FixedWindow {
        FixedWindow::counting(to, self.now, self.count)
    }

    fn refund(&mut self, units: u64, charged_at: Option<Timestamp>) {
        if self.is_current(charged_at) {
            self.count = self.count.saturating_sub(units);
        }
    }

    fn charge_late(&mut self, units: u64, charged_at: Timestamp) {
        if self.is_current(Some(charged_at)) {
            self.charge(units);
        }
    }
}

impl Portable for FixedWindow {
    fn export(&self) -> State {
        State::FixedWindow { end_us: self.end_us, count: self.count }
    }

    fn import(state: &State, limit: &Limit, at: Timestamp) -> Result<FixedWindow, Malformed> {
        let &State::FixedWindow { end_us, count } = state else { return Err(Malformed::ALGORITHM) };
        let window = FixedWindow::counting(limit, at, count);
        Malformed::unless(window.end_us == end_us, "a window's end")?;
        Ok(window)
    }
}
