//! A run of log entries, packed: some four bytes each while they come within two minutes of each other.
//!
//! An entry is the microseconds since the one before it, shifted left by one, in seven-bit groups; the low bit says that
//! the units follow in the same way, else they are 1. The first entry's own distance is not read: the block knows its
//! instant. So an entry can be dropped from the front without touching the rest.

use crate::heap::allocated_bytes;

/// A block takes no further entry past this size: long enough that its 56 bytes of sums and the allocator's 16 are few
/// against it, short enough that decoding one is some hundred nanoseconds.
pub(crate) const BLOCK_BYTES: usize = 512;
/// The longest entry: a distance of 54 bits and units of 64.
const ENTRY_BYTES_MAX: usize = 8 + 10;

/// Units admitted at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The instant, in microseconds since the epoch.
    pub at_us: u64,
    /// The units, at least one.
    pub units: u64,
}

/// Entries in the order of time, with their sum. Never empty while a log holds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    first_us: u64,
    last_us: u64,
    units: u64,
    /// Bytes of entries that were dropped from the front.
    skipped: usize,
    bytes: Vec<u8>,
}

impl Block {
    pub(crate) fn first_us(&self) -> u64 {
        self.first_us
    }

    pub(crate) fn last_us(&self) -> u64 {
        self.last_us
    }

    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.skipped == self.bytes.len()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.bytes.len() + ENTRY_BYTES_MAX <= BLOCK_BYTES
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated_bytes(self.bytes.capacity())
    }

    /// Adds an entry later than every other.
    pub(crate) fn push(&mut self, entry: Admitted) {
        if self.is_empty() {
            self.first_us = entry.at_us;
            self.last_us = entry.at_us;
        }
        let distance_us = entry.at_us - self.last_us;
        let many = entry.units != 1;
        push_number(&mut self.bytes, distance_us << 1 | u64::from(many));
        if many {
            push_number(&mut self.bytes, entry.units);
        }
        self.last_us = entry.at_us;
        self.units += entry.units;
    }

    /// Drops entries from the front up to `horizon_us`; the last one is later than that.
    pub(crate) fn trim(&mut self, horizon_us: u64) {
        debug_assert!(self.last_us > horizon_us);
        let (mut skipped, mut units) = (self.skipped, 0);
        let mut entries = self.entries();
        let first = loop {
            let entry = entries.next().expect("the last entry is later than the horizon");
            if entry.at_us > horizon_us {
                break entry;
            }
            skipped = entries.rest_at;
            units += entry.units;
        };
        self.first_us = first.at_us;
        self.skipped = skipped;
        self.units -= units;
    }

    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries { bytes: &self.bytes, rest_at: self.skipped, first_us: Some(self.first_us), at_us: 0 }
    }

    /// The same block with each entry's units put through `change`; entries left with none are dropped.
    pub(crate) fn map_units(&self, mut change: impl FnMut(Admitted) -> u64) -> Block {
        let mut block = Block { bytes: Vec::with_capacity(self.bytes.capacity()), ..Block::default() };
        for entry in self.entries() {
            let units = change(entry);
            if units > 0 {
                block.push(Admitted { units, ..entry });
            }
        }
        block
    }
}

/// The entries of a block, oldest first.
pub(crate) struct Entries<'a> {
    bytes: &'a [u8],
    rest_at: usize,
    first_us: Option<u64>,
    at_us: u64,
}

impl Iterator for Entries<'_> {
    type Item = Admitted;

    fn next(&mut self) -> Option<Admitted> {
        if self.rest_at == self.bytes.len() {
            return None;
        }
        let head = self.number();
        self.at_us = self.first_us.take().unwrap_or(self.at_us + (head >> 1));
        let units = if head & 1 == 1 { self.number() } else { 1 };
        Some(Admitted { at_us: self.at_us, units })
    }
}

impl Entries<'_> {
    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = self.bytes[self.rest_at];
            self.rest_at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(entries: &[(u64, u64)]) -> Block {
        let mut block = Block::default();
        entries.iter().for_each(|&(at_us, units)| block.push(Admitted { at_us, units }));
        block
    }

    fn check(block: &Block, expect: &[(u64, u64)]) {
        assert_eq!(block.entries().map(|entry| (entry.at_us, entry.units)).collect::<Vec<_>>(), expect);
        assert_eq!(block.units(), expect.iter().map(|entry| entry.1).sum::<u64>());
        assert_eq!(block.first_us(), expect[0].0);
        assert_eq!(block.last_us(), expect.last().unwrap().0);
    }

    #[test]
    fn entries_come_back_as_they_went_in() {
        let widest = ((1 << 53) - 1, 1_000_000_000_000);
        let entries = [(0, 1), (1, 2), (127, 1), (128, 128), (1_000_000, 100_000), widest];
        check(&block(&entries), &entries);
    }

    #[test]
    fn the_front_leaves_without_touching_the_rest() {
        let mut block = block(&[(10, 1), (20, 2), (30, 1)]);
        block.trim(9);
        check(&block, &[(10, 1), (20, 2), (30, 1)]);
        block.trim(10);
        check(&block, &[(20, 2), (30, 1)]);
        block.trim(29);
        check(&block, &[(30, 1)]);
    }

    #[test]
    fn changed_units_and_dropped_entries_leave_the_others_where_they_were() {
        let mut block = block(&[(10, 1), (20, 2), (30, 5)]);
        block.trim(10);
        check(&block.map_units(|entry| if entry.at_us == 20 { 0 } else { entry.units + 1 }), &[(30, 6)]);
        check(&block.map_units(|entry| if entry.at_us == 30 { 0 } else { entry.units }), &[(20, 2)]);
    }

    #[test]
    fn a_dense_second_takes_three_bytes_an_entry() {
        let entries: Vec<(u64, u64)> = (0..100).map(|second| (second * 1_000_000, 1)).collect();
        assert_eq!(block(&entries).bytes.len(), 1 + 99 * 3);
    }
}
