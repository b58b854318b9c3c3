//! A sliding log: the units admitted in `(t − W, t]`, one entry an instant.

use num_rational::BigRational;

use super::limit::Limit;
use super::usage::{Usage, rational};
use super::{Micros, Units};

/// Units that were admitted at one instant.
#[derive(Clone)]
struct Entry {
    t_us: Micros,
    units: Units,
}

/// The entries that have not left, oldest first.
#[derive(Clone)]
pub(super) struct SlidingLog {
    now_us: Micros,
    entries: Vec<Entry>,
}

impl SlidingLog {
    pub(super) fn unused(now_us: Micros) -> Self {
        Self { now_us, entries: Vec::new() }
    }

    /// To the entry of that instant alone: what exceeds it is lost, and if it has left, everything is.
    fn give_back_at(&mut self, t_us: Micros, units: Units) {
        for entry in self.entries.iter_mut().filter(|entry| entry.t_us == t_us) {
            entry.units -= units;
        }
    }

    fn give_back_to_newest(&mut self, mut units: Units) {
        for entry in self.entries.iter_mut().rev() {
            let given = units.min(entry.units);
            entry.units -= given;
            units -= given;
        }
    }
}

impl Usage for SlidingLog {
    /// An entry exactly W old has left.
    fn aged(&self, limit: &Limit, to_us: Micros) -> Box<dyn Usage> {
        let stays = |entry: &&Entry| entry.t_us + limit.period_us() > to_us;
        Box::new(Self { now_us: to_us, entries: self.entries.iter().filter(stays).cloned().collect() })
    }

    fn room(&self, limit: &Limit) -> BigRational {
        let used: Units = self.entries.iter().map(|entry| entry.units).sum();
        rational(limit.limit - used)
    }

    /// What left under the old W is gone already; the others are judged by the new.
    fn converted(&self, _from: &Limit, to: &Limit) -> Box<dyn Usage> {
        self.aged(to, self.now_us)
    }

    fn charge(&mut self, units: Units) {
        match self.entries.last_mut() {
            Some(newest) if newest.t_us == self.now_us => newest.units += units,
            _ => self.entries.push(Entry { t_us: self.now_us, units }),
        }
        self.entries.retain(|entry| entry.units > 0);
    }

    fn give_back(&mut self, _limit: &Limit, units: Units, charged_at_us: Option<Micros>) {
        match charged_at_us {
            Some(t_us) => self.give_back_at(t_us, units),
            None => self.give_back_to_newest(units),
        }
        self.entries.retain(|entry| entry.units > 0);
    }

    fn now_us(&self) -> Micros {
        self.now_us
    }

    fn boxed(&self) -> Box<dyn Usage> {
        Box::new(self.clone())
    }
}
