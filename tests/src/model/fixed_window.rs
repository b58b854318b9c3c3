//! A fixed window: one count, which belongs to the window that holds its instant.

use num_rational::BigRational;

use super::limit::Limit;
use super::usage::{Usage, rational};
use super::{Micros, Units};

/// The count of the window that holds `now_us`.
#[derive(Clone)]
pub(super) struct FixedWindow {
    now_us: Micros,
    count: Units,
}

impl FixedWindow {
    pub(super) fn unused(now_us: Micros) -> Self {
        Self { now_us, count: 0 }
    }

    fn is_current(&self, limit: &Limit, t_us: Micros) -> bool {
        limit.window_at(self.now_us).contains(&t_us)
    }
}

impl Usage for FixedWindow {
    fn aged(&self, limit: &Limit, to_us: Micros) -> Box<dyn Usage> {
        let count = if self.is_current(limit, to_us) { self.count } else { 0 };
        Box::new(Self { now_us: to_us, count })
    }

    fn room(&self, limit: &Limit) -> BigRational {
        rational(limit.limit - self.count)
    }

    /// The count is carried into the window that is current under the new definition.
    fn converted(&self, _from: &Limit, _to: &Limit) -> Box<dyn Usage> {
        self.boxed()
    }

    fn charge(&mut self, units: Units) {
        self.count += units;
    }

    /// Only if the window that was charged, as the present numbers cut it, is still current.
    fn give_back(&mut self, limit: &Limit, units: Units, charged_at_us: Option<Micros>) {
        if charged_at_us.is_none_or(|t_us| self.is_current(limit, t_us)) {
            self.count = (self.count - units).max(0);
        }
    }

    fn now_us(&self) -> Micros {
        self.now_us
    }

    fn boxed(&self) -> Box<dyn Usage> {
        Box::new(self.clone())
    }
}
