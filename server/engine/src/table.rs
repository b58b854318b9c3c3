//! The counters of one engine: fixed-size entries, found by identity.
//!
//! ```text
//! identity ──hash──► directory ──► segment ──► line of 15 slots ──► entry (32 bytes, by number)
//! ```
//!
//! Three things keep it small and keep it from ever stopping the shard:
//! - Entries lie in chunks that never move ([`arena`]); a number of 27 bits names one.
//! - The index holds that number and five bits of the hash, nothing else ([`segment`]). It grows one small segment at a
//!   time ([`index`]): no insertion moves more than `ENTRIES_MOVED_PER_INSERT_MAX` numbers, and that is asserted.
//! - A removal empties one slot. There are no tombstones, so that churn costs nothing later.

mod ahead;
pub(crate) mod arena;
mod entry;
mod index;
mod line;
mod segment;

pub(crate) use self::entry::{Entry, EntryNo, Links};

use self::ahead::{AHEAD_MAX, Ahead};
use self::arena::Arena;
use self::index::{Hash, Index};
use self::line::Line;
use crate::identity::Identity;
use crate::processor::prefetch;

/// Entries that one table can hold: a number names an entry in 27 bits.
pub(crate) const ENTRIES_MAX: usize = line::ENTRY_NOS_MAX;

/// Entries that are asked for on the word of one index line.
const CANDIDATES_MAX: usize = 3;

/// An entry that was found, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) no: EntryNo,
    pub(crate) entry: Entry,
}

/// Entries by identity.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) arena: Arena,
    index: Index,
    ahead: Ahead,
    len: usize,
}

impl Table {
    #[inline]
    pub(crate) fn find(&mut self, identity: Identity) -> Option<Found> {
        if let Some(no) = self.ahead.take(identity) {
            let cell = &self.arena[no];
            if cell.is_of(identity) {
                return Some(Found { no, entry: cell.entry() });
            }
        }
        self.search(identity)
    }

    #[inline(never)]
    fn search(&self, identity: Identity) -> Option<Found> {
        let no = self.index.find(Hash::of(identity), |no| self.arena[no].is_of(identity))?;
        Some(Found { no, entry: self.arena[no].entry() })
    }

    pub(crate) fn contains(&self, identity: Identity) -> bool {
        self.search(identity).is_some()
    }

    pub(crate) fn get(&self, no: EntryNo) -> Entry {
        self.arena[no].entry()
    }

    pub(crate) fn set(&mut self, no: EntryNo, entry: Entry) {
        self.arena[no].set_entry(entry);
    }

    /// Adds an entry, which is not there yet.
    pub(crate) fn insert(&mut self, identity: Identity, entry: Entry) -> EntryNo {
        assert!(self.len < ENTRIES_MAX, "the engine asks for room first");
        let no = self.arena.take(identity, entry);
        self.index.insert(Hash::of(identity), no, |no| Hash::of(self.arena[no].identity()));
        self.len += 1;
        no
    }

    pub(crate) fn remove(&mut self, no: EntryNo) {
        let identity = self.arena[no].identity();
        self.index.remove(Hash::of(identity), no);
        self.arena.give_back(no);
        self.len -= 1;
    }

    /// Asks for what a batch of searches needs: first for all index lines, then, when the first of them have come, for the
    /// entries that they name. Each pass is little work a key, so that the processor is many keys ahead of its memory.
    ///
    /// What is found stays known: the decision that follows does not look into the index again.
    pub(crate) fn prefetch(&mut self, identities: &[Identity]) {
        for batch in identities.chunks(AHEAD_MAX) {
            let mut homes = [(Hash::default(), &Line::EMPTY); AHEAD_MAX];
            for (home, &identity) in homes.iter_mut().zip(batch) {
                let hash = Hash::of(identity);
                *home = (hash, self.index.home_line(hash));
                prefetch(home.1);
            }
            self.ahead.restart();
            for (at, (&(hash, line), &identity)) in homes.iter().zip(batch).enumerate() {
                // One in six lines holds a stranger under the same tag: better asked for too than waited for alone.
                let candidates = line.under(hash.tag(), hash.start()).take(CANDIDATES_MAX);
                let likeliest = candidates.inspect(|&no| prefetch(&self.arena[no])).reduce(|first, _| first);
                self.ahead.put(at, identity, likeliest);
            }
        }
    }

    /// Asks for the index lines out of which these entries will be removed.
    pub(crate) fn prefetch_removals(&self, nos: impl Iterator<Item = EntryNo>) {
        nos.for_each(|no| prefetch(self.index.home_line(Hash::of(self.arena[no].identity()))));
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that the table grows by for `keys` more entries. Entries that were freed are there to be used again.
    pub(crate) fn bytes_for(&self, keys: usize) -> usize {
        if keys == 0 || self.arena.has_free(self.len, keys) { 0 } else { arena::CHUNK_BYTES }
    }

    /// Bytes held, as the allocator sees them.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.bytes() + self.index.bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::algorithm::Words;
    use crate::limits::LimitId;

    fn identity(n: u64) -> Identity {
        Identity { placement: n % 3, identity: n.wrapping_mul(0xd134_2543_de82_ef95) }
    }

    fn entry(n: u64) -> Entry {
        Entry { limit: LimitId(n as u32), words: Words::of(u128::from(n) << 32 | u128::from(n as u32)) }
    }

    #[test]
    fn a_table_is_a_map_through_growth_and_churn() {
        let (mut table, mut map) = (Table::default(), BTreeMap::new());
        let mut random = 1_u64;
        for step in 0..200_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let n = (random >> 33) % 30_000;
            match table.find(identity(n)) {
                Some(Found { no, entry: found }) if random >> 63 == 0 => {
                    assert_eq!(map.remove(&n), Some(found));
                    table.remove(no);
                }
                Some(Found { no, entry: found }) => {
                    assert_eq!(map.insert(n, entry(step)), Some(found));
                    table.set(no, entry(step));
                }
                None => {
                    assert_eq!(map.insert(n, entry(step)), None);
                    table.insert(identity(n), entry(step));
                }
            }
        }
        assert_eq!(table.len(), map.len());
        for n in 0..30_000 {
            assert_eq!(table.find(identity(n)).map(|found| found.entry), map.get(&n).copied());
        }
    }

    #[test]
    fn identities_that_differ_in_placement_alone_are_two() {
        let mut table = Table::default();
        for placement in 0..100 {
            table.insert(Identity { placement, identity: 7 }, entry(placement));
        }
        for placement in 0..100 {
            let Found { no, .. } = table.find(Identity { placement, identity: 7 }).unwrap();
            assert_eq!(table.get(no), entry(placement));
        }
    }

    #[test]
    fn a_key_takes_less_than_fifty_two_bytes_at_any_size() {
        let mut table = Table::default();
        for n in 0..1_000_000 {
            table.insert(identity(n), entry(n));
            let keys = table.len();
            if keys >= 200_000 && keys.is_multiple_of(10_000) {
                // Up to one chunk of entries stands ready.
                let bytes = table.bytes() - arena::CHUNK_BYTES;
                assert!(bytes < 52 * keys, "{bytes} bytes for {keys} keys");
            }
        }
    }
}
