//! A small hash table of entry numbers: the unit in which the index grows.

use super::entry::EntryNo;
use super::index::Hash;
use super::line::{Line, SLOTS};
use crate::heap::allocated_bytes;

/// Lines of a segment, from its first entry on. After the last size it splits into two of the size before, so that a
/// segment of a large table is at least half full, and growth is a few hundred numbers at a time.
const LINES: [usize; 7] = [1, 2, 4, 8, 16, 32, LINES_MAX];
const LINES_MAX: usize = 48;
/// Past five entries for six slots too many overflow their line.
const LOAD: (usize, usize) = (5, 6);

/// Entry numbers, hashed into lines; full lines overflow into the next.
#[derive(Debug)]
pub(super) struct Segment {
    lines: Box<[Line]>,
    len: usize,
    /// Bits of the hash that all its entries share.
    pub(super) depth: u32,
}

/// The most entries a segment can have when it grows or splits.
pub(super) const SEGMENT_LEN_MAX: usize = len_max(LINES_MAX);

/// Entries that fit into so many lines.
const fn len_max(lines: usize) -> usize {
    lines * SLOTS * LOAD.0 / LOAD.1
}

impl Segment {
    /// Room for `len` entries and one more.
    pub(super) fn with_room_for(len: usize, depth: u32) -> Segment {
        let lines = LINES.into_iter().find(|&lines| len < len_max(lines));
        // Only entries whose hashes are alike make a segment longer than the last size.
        let lines = lines.unwrap_or_else(|| (2 * len * LOAD.1).div_ceil(SLOTS * LOAD.0));
        Segment { lines: vec![Line::EMPTY; lines].into_boxed_slice(), len: 0, depth }
    }

    pub(super) fn is_full(&self) -> bool {
        self.len >= len_max(self.lines.len())
    }

    /// Whether it has grown to its last size.
    pub(super) fn is_grown(&self) -> bool {
        self.lines.len() >= LINES_MAX
    }

    pub(super) fn bytes(&self) -> usize {
        // An aligned block is allocated with up to an alignment's worth of slack, most of which is given back.
        allocated_bytes(size_of_val(&*self.lines)) + align_of::<Line>() / 2
    }

    pub(super) fn find(&self, hash: Hash, is_it: impl Fn(EntryNo) -> bool) -> Option<EntryNo> {
        let mut at = self.home(hash);
        for _ in 0..self.lines.len() {
            let line = &self.lines[at];
            if let Some(no) = line.under(hash.tag(), hash.start()).find(|&no| is_it(no)) {
                return Some(no);
            }
            if !line.has_overflowed() {
                return None;
            }
            at = self.next(at);
        }
        None
    }

    /// Adds a number, which is not there yet; there is room.
    pub(super) fn insert(&mut self, hash: Hash, no: EntryNo) {
        debug_assert!(!self.is_full());
        let mut at = self.home(hash);
        while !self.lines[at].put(no, hash.tag(), hash.start()) {
            self.lines[at].pass();
            at = self.next(at);
        }
        self.len += 1;
    }

    /// Removes a number, which is there.
    pub(super) fn remove(&mut self, hash: Hash, no: EntryNo) {
        let mut at = self.home(hash);
        while !self.lines[at].take(no, hash.tag()) {
            self.lines[at].unpass();
            at = self.next(at);
        }
        self.len -= 1;
    }

    /// Whether it is as if nothing had ever been in it.
    #[cfg(test)]
    pub(super) fn is_pristine(&self) -> bool {
        self.len == 0 && self.lines.iter().all(|line| line.entry_nos().count() == 0 && !line.has_overflowed())
    }

    pub(super) fn entry_nos(&self) -> impl Iterator<Item = EntryNo> {
        self.lines.iter().flat_map(Line::entry_nos)
    }

    pub(super) fn line(&self, at: usize) -> &Line {
        &self.lines[at]
    }

    /// The line that a hash belongs into.
    pub(super) fn home(&self, hash: Hash) -> usize {
        hash.below(self.lines.len())
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.lines.len() { 0 } else { at + 1 }
    }
}
