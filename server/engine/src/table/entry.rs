//! One key's counter in 44 bytes: 16 of identity, 16 of state, 4 of limit, 8 of links.

use crate::algorithm::Words;
use crate::identity::Identity;
use crate::limits::LimitId;
use crate::prefetch::prefetch;

/// The number of an entry, good until the entry is removed. Below 2^27.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// An entry as it lies in memory. Halves of words, so that it is aligned to four bytes and nothing is lost to padding;
/// the compiler joins each pair into one load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    identity: [u32; 4],
    words: [u32; 4],
    limit: u32,
    pub(crate) links: Links,
}

/// In place of a limit: nobody's entry.
const FREE: u32 = u32::MAX;

/// Bytes of an entry.
pub(crate) const CELL_BYTES: usize = size_of::<Cell>();

impl Cell {
    pub(crate) fn new(identity: Identity, entry: Entry, links: Links) -> Cell {
        Cell {
            identity: split([identity.placement, identity.identity]),
            words: split(entry.words),
            limit: entry.limit.0,
            links,
        }
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
        self.identity() == identity && self.limit != FREE
    }

    pub(crate) fn identity(&self) -> Identity {
        let [placement, identity] = join(self.identity);
        Identity { placement, identity }
    }

    pub(crate) fn entry(&self) -> Entry {
        Entry { limit: LimitId(self.limit), words: join(self.words) }
    }

    pub(crate) fn set_entry(&mut self, entry: Entry) {
        self.words = split(entry.words);
        self.limit = entry.limit.0;
    }

    /// Asks for both ends of what a decision reads: they may lie in two cache lines.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.identity);
        prefetch(&self.limit);
    }
}

fn split([a, b]: [u64; 2]) -> [u32; 4] {
    [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
}

fn join([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_forty_four_bytes_and_comes_back_as_it_went_in() {
        assert_eq!(CELL_BYTES, 44);
        let identity = Identity { placement: 1 << 63 | 5, identity: 7 << 40 | 9 };
        let entry = Entry { limit: LimitId(u32::MAX - 1), words: [u64::MAX - 1, 1 << 33 | 1] };
        let cell = Cell::new(identity, entry, Links { before: 1, after: 2 });
        assert_eq!((cell.identity(), cell.entry()), (identity, entry));
        assert!(cell.is_of(identity));
    }

    #[test]
    fn a_freed_entry_is_nobodys() {
        let identity = Identity { placement: 0, identity: 0 };
        let mut cell = Cell::new(identity, Entry { limit: LimitId(0), words: [0; 2] }, Links { before: 0, after: 0 });
        cell.free();
        assert!(!cell.is_of(identity));
    }
}
