//! A cache line of the index: fifteen slots, and a count of entries that wanted to be here and stand further on.
//!
//! The count is what makes removal simple: a search goes on past a line only if something overflowed from it, so that an
//! emptied slot needs no marker. Source: the idea of counting overflows instead of leaving tombstones is F14's.

use super::entry::EntryNo;

/// Slots in a line.
pub(super) const SLOTS: usize = 15;
/// Bits of an entry's number in a slot; number plus one, so that an empty slot is 0.
const NUMBER_BITS: u32 = 27;
/// Entries that can be named.
pub(super) const ENTRY_NOS_MAX: usize = (1 << NUMBER_BITS) - 1;

/// Five bits of an entry's hash, where they stand in a slot: a slot with other bits is another's, without a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

impl Tag {
    /// The tag made of the lowest bits of `bits`.
    pub(super) fn of(bits: u64) -> Tag {
        Tag((bits as u32) << NUMBER_BITS)
    }
}

/// A slot's content: an entry's number under its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

impl Slot {
    const EMPTY: Slot = Slot(0);

    pub(super) fn holding(no: EntryNo, tag: Tag) -> Slot {
        debug_assert!((no.0 as usize) < ENTRY_NOS_MAX);
        Slot((no.0 + 1) | tag.0)
    }

    pub(super) fn entry_no(self) -> Option<EntryNo> {
        (self.0 & ((1 << NUMBER_BITS) - 1)).checked_sub(1).map(EntryNo)
    }

    /// The number it holds, if under this tag.
    fn under(self, tag: Tag) -> Option<EntryNo> {
        // An empty slot's number is zero under any tag.
        self.entry_no().filter(|_| self.0 >> NUMBER_BITS == tag.0 >> NUMBER_BITS)
    }
}

/// Fifteen slots and the overflow count, aligned so that one load brings all.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    slots: [Slot; SLOTS],
    overflowed: u32,
}

impl Line {
    pub(super) const EMPTY: Line = Line { slots: [Slot::EMPTY; SLOTS], overflowed: 0 };

    /// The entries under `tag`, those nearest after `start` first: that is where [`put`](Line::put) puts them, so a
    /// present entry is found before most others are looked at.
    pub(super) fn under(&self, tag: Tag, start: usize) -> impl Iterator<Item = EntryNo> {
        let (head, tail) = self.slots.split_at(start);
        tail.iter().chain(head).filter_map(move |slot| slot.under(tag))
    }

    /// Puts a slot's content into the free slot nearest after `start`. Says whether there was one.
    pub(super) fn put(&mut self, content: Slot, start: usize) -> bool {
        let (head, tail) = self.slots.split_at_mut(start);
        let Some(free) = tail.iter_mut().chain(head).find(|slot| **slot == Slot::EMPTY) else { return false };
        *free = content;
        true
    }

    /// Empties the slot with that content. Says whether there was one.
    pub(super) fn take(&mut self, content: Slot) -> bool {
        let Some(slot) = self.slots.iter_mut().find(|slot| **slot == content) else { return false };
        *slot = Slot::EMPTY;
        true
    }

    pub(super) fn entry_nos(&self) -> impl Iterator<Item = EntryNo> {
        self.slots.iter().filter_map(|slot| slot.entry_no())
    }

    pub(super) fn has_overflowed(&self) -> bool {
        self.overflowed > 0
    }

    /// One more entry passed on to a later line.
    pub(super) fn pass(&mut self) {
        self.overflowed += 1;
    }

    /// One entry that had passed on is gone.
    pub(super) fn unpass(&mut self) {
        self.overflowed -= 1;
    }

    pub(super) fn touch(&self) -> u32 {
        self.overflowed
    }
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
                assert!(line.put(Slot::holding(EntryNo(no), Tag::of(bits)), 7));
                for other in 0..32 {
                    let found = line.under(Tag::of(other), 3).next();
                    assert_eq!(found, (other == bits).then_some(EntryNo(no)));
                }
            }
        }
    }

    #[test]
    fn a_line_takes_fifteen() {
        let mut line = Line::EMPTY;
        for no in 0..SLOTS as u32 {
            assert!(line.put(Slot::holding(EntryNo(no), Tag::of(0)), 14));
        }
        assert!(!line.put(Slot::holding(EntryNo(99), Tag::of(0)), 14));
        assert!(line.take(Slot::holding(EntryNo(3), Tag::of(0))));
        assert!(!line.take(Slot::holding(EntryNo(3), Tag::of(0))));
        assert!(line.put(Slot::holding(EntryNo(99), Tag::of(0)), 14));
        assert_eq!(line.entry_nos().count(), SLOTS);
    }
}
