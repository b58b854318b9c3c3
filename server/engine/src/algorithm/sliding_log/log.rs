//! Admitted instants in blocks, and the newest one apart, where the next call of the same instant adds to it.

use std::collections::VecDeque;

use super::block::{Admitted, Block};
use crate::heap::allocated_bytes;

/// Units that one log can hold. Settling may push a log over its limit, 10^12 units at a time; past this, which would
/// take millions of such settlements within one period, units are no longer added, so that sums cannot overflow.
pub(crate) const UNITS_HELD_MAX: u64 = 1 << 62;

/// What was admitted, oldest first.
///
/// Sums stand beside each block, in one run of memory: a question about units reads sums, and opens one block.
#[derive(Debug, Default)]
pub(crate) struct Log {
    blocks: VecDeque<Block>,
    newest: Option<Admitted>,
    /// The units of everything held.
    units: u64,
    /// Heap bytes of the blocks' entries.
    entry_bytes: usize,
}

impl Log {
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// The instant of the newest entry; there is one.
    pub(crate) fn newest_us(&self) -> u64 {
        self.newest.expect("a log with units has a newest entry").at_us
    }

    /// Everything held, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Admitted> {
        self.blocks.iter().flat_map(Block::entries).chain(self.newest)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated_bytes(self.blocks.capacity() * size_of::<Block>()) + self.entry_bytes
    }

    /// Records units admitted at `at_us`, which is no earlier than anything held. They are within the limit.
    pub(crate) fn admit(&mut self, at_us: u64, units: u64) {
        self.units += units;
        match &mut self.newest {
            Some(newest) if newest.at_us == at_us => newest.units += units,
            newest => {
                if let Some(older) = newest.replace(Admitted { at_us, units }) {
                    self.pack(older);
                }
            }
        }
    }

    /// Drops what was admitted up to `horizon_us`: whole blocks, then the front of one.
    pub(crate) fn trim(&mut self, horizon_us: u64) {
        if self.newest.is_some_and(|newest| newest.at_us <= horizon_us) {
            *self = Log::default();
            return;
        }
        while self.blocks.front().is_some_and(|block| block.last_us() <= horizon_us) {
            let gone = self.blocks.pop_front().expect("a front was just seen");
            self.forget(&gone);
        }
        if let Some(block) = self.blocks.front_mut().filter(|block| block.first_us() <= horizon_us) {
            let before = block.units();
            block.trim(horizon_us);
            self.units -= before - block.units();
        }
    }

    /// The units admitted up to `horizon_us`.
    pub(crate) fn units_until(&self, horizon_us: u64) -> u64 {
        let whole = self.blocks.partition_point(|block| block.last_us() <= horizon_us);
        let sums = self.blocks.iter().take(whole).map(Block::units);
        let opened = self.blocks.iter().skip(whole).take(1).flat_map(Block::entries).chain(self.newest);
        sums.sum::<u64>() + opened.filter(|entry| entry.at_us <= horizon_us).map(|entry| entry.units).sum::<u64>()
    }

    /// The instant at which the `n`th unit was admitted, counted from 1 and from the oldest.
    pub(crate) fn instant_of_unit(&self, n: u64) -> u64 {
        let mut before = 0;
        for block in &self.blocks {
            if before + block.units() >= n {
                return instant_within(block, n - before);
            }
            before += block.units();
        }
        self.newest_us()
    }

    /// Takes up to `units` back from the newest entries.
    pub(crate) fn take_newest(&mut self, mut units: u64) {
        while let Some(newest) = self.newest.filter(|_| units > 0) {
            let taken = newest.units.min(units);
            units -= taken;
            self.set_newest_units(newest.units - taken);
            while let Some(block) = self.blocks.back().filter(|block| self.newest.is_none() && block.units() <= units) {
                units -= block.units();
                self.drop_back();
            }
            self.open_back();
        }
    }

    /// Takes up to `units` back from the entry of that instant; what exceeds it is lost.
    pub(crate) fn take_from(&mut self, at_us: u64, units: u64) {
        self.change(at_us, |held| held.saturating_sub(units));
        self.open_back();
    }

    /// Adds units to the entry of that instant, if there is one.
    pub(crate) fn add_to(&mut self, at_us: u64, units: u64) {
        let units = units.min(UNITS_HELD_MAX - self.units);
        self.change(at_us, |held| held + units);
    }

    fn change(&mut self, at_us: u64, change: impl Fn(u64) -> u64) {
        if let Some(newest) = self.newest.filter(|newest| newest.at_us == at_us) {
            return self.set_newest_units(change(newest.units));
        }
        let no = self.blocks.partition_point(|block| block.last_us() < at_us);
        let Some(block) = self.blocks.get(no).filter(|block| block.first_us() <= at_us) else { return };
        let changed = block.map_units(|entry| if entry.at_us == at_us { change(entry.units) } else { entry.units });
        self.replace(no, changed);
    }

    fn set_newest_units(&mut self, units: u64) {
        let newest = self.newest.as_mut().expect("only an entry that is there is changed");
        self.units = self.units - newest.units + units;
        newest.units = units;
        if units == 0 {
            self.newest = None;
        }
    }

    /// Restores the invariant that the newest entry stands apart, after it was taken back whole.
    fn open_back(&mut self) {
        if self.newest.is_some() {
            return;
        }
        let Some(block) = self.blocks.back() else { return };
        let last = block.entries().last().expect("a block that is held has entries");
        let rest = block.map_units(|entry| if entry == last { 0 } else { entry.units });
        self.replace(self.blocks.len() - 1, rest);
        self.units += last.units;
        self.newest = Some(last);
    }

    fn replace(&mut self, no: usize, block: Block) {
        let before = &mut self.blocks[no];
        self.units = self.units - before.units() + block.units();
        self.entry_bytes = self.entry_bytes - before.heap_bytes() + block.heap_bytes();
        *before = block;
        if self.blocks[no].is_empty() {
            let empty = self.blocks.remove(no).expect("the block that was just replaced");
            self.forget(&empty);
        }
    }

    fn drop_back(&mut self) {
        let gone = self.blocks.pop_back().expect("a back was just seen");
        self.forget(&gone);
    }

    fn forget(&mut self, gone: &Block) {
        self.units -= gone.units();
        self.entry_bytes -= gone.heap_bytes();
    }

    fn pack(&mut self, entry: Admitted) {
        if !self.blocks.back().is_some_and(Block::has_room) {
            self.blocks.reserve_exact(self.blocks.len() / 8 + 1);
            self.blocks.push_back(Block::default());
        }
        let block = self.blocks.back_mut().expect("a back with room was just seen or made");
        let before = block.heap_bytes();
        block.push(entry);
        self.entry_bytes = self.entry_bytes - before + block.heap_bytes();
    }
}

fn instant_within(block: &Block, n: u64) -> u64 {
    let mut before = 0;
    let reached = block.entries().find(|entry| {
        before += entry.units;
        before >= n
    });
    reached.expect("a block holds the units that it sums").at_us
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same log as a plain list.
    #[derive(Default)]
    struct Plain(Vec<(u64, u64)>);

    impl Plain {
        fn units(&self) -> u64 {
            self.0.iter().map(|entry| entry.1).sum()
        }

        fn take_newest(&mut self, mut units: u64) {
            for entry in self.0.iter_mut().rev() {
                let taken = entry.1.min(units);
                entry.1 -= taken;
                units -= taken;
            }
            self.0.retain(|entry| entry.1 > 0);
        }
    }

    fn check(log: &Log, plain: &Plain) {
        assert_eq!(log.entries().map(|entry| (entry.at_us, entry.units)).collect::<Vec<_>>(), plain.0);
        assert_eq!(log.units(), plain.units());
        assert_eq!(log.entry_bytes, log.blocks.iter().map(Block::heap_bytes).sum::<usize>());
        let mut n = 0;
        for &(at_us, units) in &plain.0 {
            assert_eq!((log.instant_of_unit(n + 1), log.instant_of_unit(n + units)), (at_us, at_us));
            n += units;
            assert_eq!(log.units_until(at_us), n);
        }
    }

    fn filled(entries: u64) -> (Log, Plain) {
        let (mut log, mut plain) = (Log::default(), Plain::default());
        for n in 1..=entries {
            let entry = (n * n * 37, n % 3 + 1);
            log.admit(entry.0, entry.1);
            plain.0.push(entry);
        }
        (log, plain)
    }

    #[test]
    fn an_instant_has_one_entry() {
        let mut log = Log::default();
        log.admit(5, 1);
        log.admit(5, 2);
        check(&log, &Plain(vec![(5, 3)]));
    }

    #[test]
    fn trimming_drops_what_is_no_later_than_the_horizon() {
        for horizon_us in [0, 36, 37, 100_000, 1_000_000, 37 * 399 * 399, 37 * 400 * 400] {
            let (mut log, mut plain) = filled(400);
            log.trim(horizon_us);
            plain.0.retain(|entry| entry.0 > horizon_us);
            check(&log, &plain);
        }
    }

    #[test]
    fn the_newest_units_are_taken_back_first() {
        for units in [0, 1, 2, 3, 200, 400, 600, 799, 800, 1200] {
            let (mut log, mut plain) = filled(400);
            log.take_newest(units);
            plain.take_newest(units);
            check(&log, &plain);
            log.admit(1 << 40, 1);
            plain.0.push((1 << 40, 1));
            check(&log, &plain);
        }
    }

    #[test]
    fn an_entry_gives_back_no_more_than_it_has() {
        for n in [1, 2, 200, 399, 400] {
            for units in [1, 2, 9] {
                let (mut log, mut plain) = filled(400);
                log.take_from(n * n * 37, units);
                plain.0[n as usize - 1].1 = plain.0[n as usize - 1].1.saturating_sub(units);
                plain.0.retain(|entry| entry.1 > 0);
                check(&log, &plain);
            }
        }
    }

    #[test]
    fn units_are_added_to_an_entry_that_is_there_and_nowhere_else() {
        let (mut log, mut plain) = filled(400);
        for n in [1, 2, 200, 400] {
            log.add_to(n * n * 37, 1_000_000_000_000);
            log.add_to(n * n * 37 + 1, 7);
            plain.0[n as usize - 1].1 += 1_000_000_000_000;
            check(&log, &plain);
        }
    }

    #[test]
    fn a_dense_log_takes_less_than_six_bytes_an_instant() {
        let mut log = Log::default();
        (0..100_000).for_each(|n| log.admit(n * 36_000_000, 1));
        let bytes = log.heap_bytes() + size_of::<Log>();
        assert!(bytes < 6 * 100_000, "{bytes}");
    }
}
