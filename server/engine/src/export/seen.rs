//! What a fill has brought: so that what it has not brought can be forgotten when it is over.

use std::collections::{BTreeMap, BTreeSet};

use crate::identity::Identity;
use crate::table::EntryNo;

/// Entries in one block: 512 bytes, so that no growth ever stops the shard.
const BLOCK_ENTRIES: u32 = 1 << 12;

const WORDS: usize = BLOCK_ENTRIES as usize / 64;

/// A set of entries, one bit each, and of reservations.
///
/// A number that is freed and used again keeps its bit: within the range that is filled only the fill makes entries.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    blocks: BTreeMap<u32, Box<[u64; WORDS]>>,
    reservations: BTreeSet<Identity>,
}

impl Seen {
    pub(crate) fn add_entry(&mut self, EntryNo(no): EntryNo) {
        let block = self.blocks.entry(no / BLOCK_ENTRIES).or_insert_with(|| Box::new([0; WORDS]));
        block[word(no)] |= bit(no);
    }

    pub(crate) fn has_entry(&self, EntryNo(no): EntryNo) -> bool {
        self.blocks.get(&(no / BLOCK_ENTRIES)).is_some_and(|block| block[word(no)] & bit(no) != 0)
    }

    pub(crate) fn add_reservation(&mut self, name: Identity) {
        self.reservations.insert(name);
    }

    pub(crate) fn has_reservation(&self, name: Identity) -> bool {
        self.reservations.contains(&name)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<[u64; WORDS]>() + self.reservations.len() * size_of::<Identity>() * 3 / 2
    }
}

fn word(no: u32) -> usize {
    (no % BLOCK_ENTRIES / 64) as usize
}

fn bit(no: u32) -> u64 {
    1 << (no % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_was_added_and_nothing_else() {
        let numbers = [0, 63, 64, 4_095, 4_096, (1 << 27) - 1];
        let mut seen = Seen::default();
        numbers.iter().for_each(|&no| seen.add_entry(EntryNo(no)));
        for no in numbers.into_iter().flat_map(|no| no.saturating_sub(2)..no + 2) {
            assert_eq!(seen.has_entry(EntryNo(no)), numbers.contains(&no), "{no}");
        }
        assert_eq!(seen.bytes(), 3 * 512);
    }
}
