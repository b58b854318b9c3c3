//! A cache line of the index: fifteen slots, and a count of entries that wanted to be here and stand further on.
//!
//! The count is what makes removal simple: a search goes on past a line only if something overflowed from it, so that an
//! emptied slot needs no marker. Source: the idea of counting overflows instead of leaving tombstones is F14's.

use super::entry::EntryNo;
use crate::processor::{LANES, alike};

/// Slots in a line.
pub(super) const SLOTS: usize = LANES - 1;
/// What an empty slot holds.
const EMPTY: u32 = 0;
/// A bit for each of them.
const ALL: u32 = (1 << SLOTS) - 1;
/// Bits of an entry's number in a slot.
const NUMBER_BITS: u32 = 27;
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;
/// Entries that can be named.
pub(super) const ENTRY_NOS_MAX: usize = 1 << NUMBER_BITS;

/// Five bits of an entry's hash, where they stand in a slot: a slot with other bits is another's, without a look.
/// Never zero, as an empty slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

impl Tag {
    /// The tag made of the lowest bits of `bits`.
    pub(super) fn of(bits: u64) -> Tag {
        let tag = (bits & 0x1f) as u32;
        Tag(tag.max(1) << NUMBER_BITS)
    }
}

/// Fifteen slots and the overflow count, aligned so that one load brings all.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line {
    /// The slots' contents, and behind them the count.
    words: [u32; LANES],
}

impl Line {
    pub(super) const EMPTY: Line = Line { words: [EMPTY; LANES] };

    /// The entries under `tag`, those nearest after `start` first: that is where [`put`](Line::put) puts them, so that an
    /// entry that is there is found before most others are looked at.
    pub(super) fn under(&self, tag: Tag, start: usize) -> impl Iterator<Item = EntryNo> {
        let alike = alike(&self.words, !NUMBER_MASK, tag.0) & ALL; // without the count
        // The bits from `start` on, and behind them those before it.
        let mut left = (alike >> start) | (alike << (SLOTS - start)) & ALL;
        std::iter::from_fn(move || {
            let after_start = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            let at = start + after_start;
            let at = if at < SLOTS { at } else { at - SLOTS };
            Some(EntryNo(self.words[at % self.words.len()] & NUMBER_MASK))
        })
    }

    /// Puts an entry into the free slot nearest after `start`. Says whether there was one.
    pub(super) fn put(&mut self, no: EntryNo, tag: Tag, start: usize) -> bool {
        let (head, tail) = self.slots_mut().split_at_mut(start);
        let Some(free) = tail.iter_mut().chain(head).find(|slot| **slot == EMPTY) else { return false };
        *free = content(no, tag);
        true
    }

    /// Takes an entry out. Says whether it was there.
    pub(super) fn take(&mut self, no: EntryNo, tag: Tag) -> bool {
        let Some(slot) = self.slots_mut().iter_mut().find(|slot| **slot == content(no, tag)) else { return false };
        *slot = EMPTY;
        true
    }

    pub(super) fn entry_nos(&self) -> impl Iterator<Item = EntryNo> {
        let taken = self.words[..SLOTS].iter().filter(|slot| **slot != EMPTY);
        taken.map(|slot| EntryNo(slot & NUMBER_MASK))
    }

    pub(super) fn has_overflowed(&self) -> bool {
        self.words[SLOTS] > 0
    }

    /// One more entry passed on to a later line.
    pub(super) fn pass(&mut self) {
        self.words[SLOTS] += 1;
    }

    /// One entry that had passed on is gone.
    pub(super) fn unpass(&mut self) {
        self.words[SLOTS] -= 1;
    }

    fn slots_mut(&mut self) -> &mut [u32] {
        &mut self.words[..SLOTS]
    }
}

/// What a slot holds: an entry's number under its tag.
fn content(no: EntryNo, tag: Tag) -> u32 {
    debug_assert!(no.0 <= NUMBER_MASK);
    no.0 | tag.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_cache_line() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }

    #[test]
    fn the_first_and_the_last_number_are_told_from_nothing_under_every_tag() {
        for no in [0, ENTRY_NOS_MAX as u32 - 1] {
            for bits in 0..32 {
                let mut line = Line::EMPTY;
                assert!(line.put(EntryNo(no), Tag::of(bits), 7));
                for other in 0..32 {
                    let found = line.under(Tag::of(other), 3).next();
                    assert_eq!(found, (other.max(1) == bits.max(1)).then_some(EntryNo(no)));
                }
            }
        }
    }

    #[test]
    fn a_line_takes_fifteen() {
        let mut line = Line::EMPTY;
        for no in 0..SLOTS as u32 {
            assert!(line.put(EntryNo(no), Tag::of(0), 14));
        }
        assert!(!line.put(EntryNo(99), Tag::of(0), 14));
        assert!(line.take(EntryNo(3), Tag::of(0)));
        assert!(!line.take(EntryNo(3), Tag::of(0)));
        assert!(line.put(EntryNo(99), Tag::of(0), 14));
        assert_eq!(line.entry_nos().count(), SLOTS);
    }
}
