//! A sliding counter: the current window's count, and as much of the previous one's as the window still overlaps.

use num_rational::BigRational;

use super::limit::Limit;
use super::usage::{Usage, ratio, rational, whole};
use super::{Micros, Units};

/// The counts of the window that holds `now_us` and of the one before it.
#[derive(Clone)]
pub(super) struct SlidingCounter {
    now_us: Micros,
    current: Units,
    previous: Units,
}

impl SlidingCounter {
    pub(super) fn unused(now_us: Micros) -> Self {
        Self { now_us, current: 0, previous: 0 }
    }

    /// `prev·(1 − f) + cur`, where f is the part of the current window that is over.
    fn estimate(&self, limit: &Limit) -> BigRational {
        let window = limit.window_at(self.now_us);
        let share_left = ratio(window.end - self.now_us, limit.period_us());
        rational(self.previous) * share_left + rational(self.current)
    }

    /// How many windows later than the current one `t_us` lies; below 0, earlier.
    fn windows_until(&self, limit: &Limit, t_us: Micros) -> i128 {
        (limit.window_at(t_us).start - limit.window_at(self.now_us).start) / limit.period_us()
    }
}

impl Usage for SlidingCounter {
    fn aged(&self, limit: &Limit, to_us: Micros) -> Box<dyn Usage> {
        let (current, previous) = match self.windows_until(limit, to_us) {
            0 => (self.current, self.previous),
            1 => (0, self.current),
            _ => (0, 0),
        };
        Box::new(Self { now_us: to_us, current, previous })
    }

    fn room(&self, limit: &Limit) -> BigRational {
        rational(limit.limit) - self.estimate(limit)
    }

    fn converted(&self, from: &Limit, to: &Limit) -> Box<dyn Usage> {
        if from.period_us() == to.period_us() {
            return self.boxed();
        }
        Box::new(Self { now_us: self.now_us, current: whole(&self.estimate(from).ceil()), previous: 0 })
    }

    fn charge(&mut self, units: Units) {
        self.current += units;
    }

    fn give_back(&mut self, limit: &Limit, units: Units, charged_at_us: Option<Micros>) {
        match self.windows_until(limit, charged_at_us.unwrap_or(self.now_us)) {
            0 => self.current = (self.current - units).max(0),
            -1 => self.previous = (self.previous - units).max(0),
            _ => {}
        }
    }

    fn now_us(&self) -> Micros {
        self.now_us
    }

    fn boxed(&self) -> Box<dyn Usage> {
        Box::new(self.clone())
    }
}
