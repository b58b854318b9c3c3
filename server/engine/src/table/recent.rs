//! What was found lately: a look here before a look into the index.
//!
//! A batch is touched before it is decided, and a hot key is decided many times over; either way the second search is
//! saved. It is a hint and never a promise: whoever takes it compares the entry's identity.

use super::entry::EntryNo;
use super::index::Hash;

/// Room for a batch of 64 with few collisions, in two kilobytes.
const SLOTS: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Other bits of the hash than those that chose the slot; so that a stranger's entry is not even read.
    check: u32,
    no: u32,
}

/// Entry numbers by some bits of their hash; the latest wins.
#[derive(Debug)]
pub(super) struct Recent {
    slots: [Slot; SLOTS],
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { slots: [Slot::default(); SLOTS] }
    }
}

impl Recent {
    pub(super) fn get(&self, hash: Hash) -> Option<EntryNo> {
        let slot = self.slots[slot_of(hash)];
        (slot.check == check_of(hash)).then_some(EntryNo(slot.no))
    }

    pub(super) fn put(&mut self, hash: Hash, no: EntryNo) {
        self.slots[slot_of(hash)] = Slot { check: check_of(hash), no: no.0 };
    }
}

fn slot_of(hash: Hash) -> usize {
    hash.low() as usize % SLOTS
}

/// Never zero: an empty slot belongs to nobody.
fn check_of(hash: Hash) -> u32 {
    hash.high() | 1
}
