//! The counters of one engine: fixed-size entries, found by identity.
//!
//! ```text
//! identity ──hash──► directory ──► segment ──► line of 15 slots ──► entry (44 bytes, by number)
//! ```
//!
//! Three things keep it small and keep it from ever stopping the shard:
//! - Entries lie in chunks that never move ([`arena`]); a number of 27 bits names one.
//! - The index holds that number and five bits of the hash, nothing else ([`segment`]). It grows one small segment at a
//!   time ([`index`]): no insertion moves more than `ENTRIES_MOVED_PER_INSERT_MAX` numbers, and that is asserted.
//! - A removal empties one slot. There are no tombstones, so that churn costs nothing later.

pub(crate) mod arena;
mod entry;
mod index;
mod line;
mod recent;
mod segment;

pub(crate) use self::entry::{Entry, EntryNo, Links};

use self::arena::Arena;
use self::index::{Hash, Index};
use self::recent::Recent;
use crate::identity::Identity;

/// Entries that one table can hold: a number names an entry in 27 bits.
pub(crate) const ENTRIES_MAX: usize = line::ENTRY_NOS_MAX;

/// Entries that are asked for on the word of one index line.
const CANDIDATES_MAX: usize = 3;

/// Entries by identity.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) arena: Arena,
    index: Index,
    recent: Recent,
    len: usize,
}

impl Table {
    pub(crate) fn find(&mut self, identity: Identity) -> Option<EntryNo> {
        let hash = Hash::of(identity);
        let is_it = |&no: &EntryNo| self.arena[no].is_of(identity);
        if let Some(no) = self.recent.get(hash).filter(is_it) {
            return Some(no);
        }
        let no = self.index.find(hash, |no| is_it(&no))?;
        self.recent.put(hash, no);
        Some(no)
    }

    pub(crate) fn contains(&self, identity: Identity) -> bool {
        self.index.find(Hash::of(identity), |no| self.arena[no].is_of(identity)).is_some()
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

    /// Asks for the memory that a search for `identity` begins with: its index line.
    #[inline]
    pub(crate) fn prefetch_line(&self, identity: Identity) {
        self.index.prefetch(Hash::of(identity));
    }

    /// Asks for the entry of `identity`, whose index line has come meanwhile.
    ///
    /// What is found stays known: the decision that follows does not look into the index again. One in six lines holds a
    /// stranger under the same tag; its entry is asked for too, rather than be waited for alone.
    #[inline]
    pub(crate) fn prefetch_entry(&mut self, identity: Identity) {
        let hash = Hash::of(identity);
        let mut likeliest = None;
        for no in self.index.candidates(hash).take(CANDIDATES_MAX) {
            self.arena[no].prefetch();
            likeliest = likeliest.or(Some(no));
        }
        if let Some(no) = likeliest {
            self.recent.put(hash, no);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that `keys` more entries would bring the table to. Entries that were freed are there to be used again.
    pub(crate) fn bytes_for(&self, keys: usize) -> usize {
        if keys == 0 || self.arena.has_free(self.len, keys) { 0 } else { self.bytes() + arena::CHUNK_BYTES }
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
    use crate::limits::LimitId;

    fn identity(n: u64) -> Identity {
        Identity { placement: n % 3, identity: n.wrapping_mul(0xd134_2543_de82_ef95) }
    }

    fn entry(n: u64) -> Entry {
        Entry { limit: LimitId(n as u32), words: [n, !n] }
    }

    #[test]
    fn a_table_is_a_map_through_growth_and_churn() {
        let (mut table, mut map) = (Table::default(), BTreeMap::new());
        let mut random = 1_u64;
        for step in 0..200_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let n = (random >> 33) % 30_000;
            match table.find(identity(n)) {
                Some(no) if random >> 63 == 0 => {
                    assert_eq!(map.remove(&n), Some(table.get(no)));
                    table.remove(no);
                }
                Some(no) => {
                    assert_eq!(map.insert(n, entry(step)), Some(table.get(no)));
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
            assert_eq!(table.find(identity(n)).map(|no| table.get(no)), map.get(&n).copied());
        }
    }

    #[test]
    fn identities_that_differ_in_placement_alone_are_two() {
        let mut table = Table::default();
        for placement in 0..100 {
            table.insert(Identity { placement, identity: 7 }, entry(placement));
        }
        for placement in 0..100 {
            let no = table.find(Identity { placement, identity: 7 }).unwrap();
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
