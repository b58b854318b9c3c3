//! A bucket: a level that gains L tokens every W up to C. A leaky bucket is the same, read as C less what is queued.

use num_rational::BigRational;

use super::limit::Limit;
use super::usage::{Usage, ratio, rational};
use super::{Micros, Units};

/// The deepest debt that settling can leave.
const LEVEL_MIN: Units = -1_000_000_000_000;

/// The level at an instant.
#[derive(Clone)]
pub(super) struct Bucket {
    now_us: Micros,
    level: BigRational,
}

impl Bucket {
    pub(super) fn full(limit: &Limit, now_us: Micros) -> Self {
        Self { now_us, level: rational(limit.ceiling()) }
    }
}

impl Usage for Bucket {
    fn aged(&self, limit: &Limit, to_us: Micros) -> Box<dyn Usage> {
        let gained = ratio((to_us - self.now_us) * limit.limit, limit.period_us());
        let level = (&self.level + gained).min(rational(limit.ceiling()));
        Box::new(Self { now_us: to_us, level })
    }

    fn room(&self, _limit: &Limit) -> BigRational {
        self.level.clone()
    }

    fn converted(&self, from: &Limit, to: &Limit) -> Box<dyn Usage> {
        let mut level = self.level.clone();
        if from.period_us() != to.period_us() {
            let parts_per_token = rational(to.period_us());
            level = (level * &parts_per_token).floor() / parts_per_token;
        }
        Box::new(Self { now_us: self.now_us, level: level.min(rational(to.ceiling())) })
    }

    fn charge(&mut self, units: Units) {
        self.level -= rational(units);
    }

    /// Wherever they were charged: a bucket does not remember when.
    fn give_back(&mut self, limit: &Limit, units: Units, _charged_at_us: Option<Micros>) {
        let level = &self.level + rational(units);
        self.level = level.clamp(rational(LEVEL_MIN), rational(limit.ceiling()));
    }

    fn now_us(&self) -> Micros {
        self.now_us
    }

    fn boxed(&self) -> Box<dyn Usage> {
        Box::new(self.clone())
    }
}
