//! One key's counter in 40 bytes: 16 of identity, 12 of state and 4 of limit together, 8 of links apart.

use crate::algorithm::Words;
use crate::identity::Identity;
use crate::limits::LimitId;

/// The number of an entry, good until the entry is removed. Below 2^27.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryNo(pub(crate) u32);

/// What an entry counts under, and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) limit: LimitId,
    pub(crate) words: Words,
}

/// Where an entry stands in a list: what comes before and after it. What the numbers mean is the list's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) before: u32,
    pub(crate) after: u32,
}

/// An entry as it lies in memory: half a cache line and never across two, so that a decision waits for one.
///
/// What the wheel needs lies elsewhere ([`Links`]), since a decision on a key that is there does not.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Cell {
    identity: Identity,
    words: Words,
    limit: LimitId,
}

/// In place of a limit: nobody's entry.
const FREE: LimitId = LimitId(u32::MAX);

/// Bytes of an entry, without its links.
pub(crate) const CELL_BYTES: usize = size_of::<Cell>();

impl Cell {
    pub(crate) fn new(identity: Identity, entry: Entry) -> Cell {
        Cell { identity, words: entry.words, limit: entry.limit }
    }

    /// Marks it as nobody's, so that whoever still knows its number sees that.
    pub(crate) fn free(&mut self) {
        self.limit = FREE;
    }

    pub(crate) fn is_free(&self) -> bool {
        self.limit == FREE
    }

    /// Whether it is the entry of `identity`.
    pub(crate) fn is_of(&self, identity: Identity) -> bool {
        self.identity == identity && self.limit != FREE
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn entry(&self) -> Entry {
        Entry { limit: self.limit, words: self.words }
    }

    pub(crate) fn set_entry(&mut self, entry: Entry) {
        (self.limit, self.words) = (entry.limit, entry.words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_half_a_cache_line_and_comes_back_as_it_went_in() {
        assert_eq!((CELL_BYTES, align_of::<Cell>(), size_of::<Links>()), (32, 32, 8));
        let identity = Identity { placement: 1 << 63 | 5, identity: 7 << 40 | 9 };
        let entry = Entry { limit: LimitId(u32::MAX - 1), words: Words::of((1 << 96) - 2) };
        let cell = Cell::new(identity, entry);
        assert_eq!((cell.identity(), cell.entry()), (identity, entry));
        assert!(cell.is_of(identity));
    }

    #[test]
    fn a_freed_entry_is_nobodys() {
        let identity = Identity { placement: 0, identity: 0 };
        let mut cell = Cell::new(identity, Entry { limit: LimitId(0), words: Words::of(0) });
        cell.free();
        assert!(!cell.is_of(identity));
    }
}
