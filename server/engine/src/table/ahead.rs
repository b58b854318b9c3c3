//! What a batch has looked up ahead: a search that comes in the batch's order does not look into the index again.
//!
//! It is a hint and never a promise: an entry may have gone meanwhile, so whoever takes a number compares identities.
//! Searches in another order only cost more.

use super::entry::EntryNo;
use crate::identity::Identity;

/// Keys that are looked up together: a shard's batch.
pub(super) const AHEAD_MAX: usize = 64;

/// In place of a number: the index line knew nobody.
const NOBODY: EntryNo = EntryNo(u32::MAX);

/// The likeliest entry of each key of a batch, in its order.
#[derive(Debug)]
pub(super) struct Ahead {
    found: [(Identity, EntryNo); AHEAD_MAX],
    /// The one that is expected to be asked for next.
    next: usize,
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { found: [(Identity { placement: 0, identity: 0 }, NOBODY); AHEAD_MAX], next: 0 }
    }
}

impl Ahead {
    /// Begins with the first of a batch that [`put`](Ahead::put) fills.
    pub(super) fn restart(&mut self) {
        self.next = 0;
    }

    /// Notes what was found for the key at this place of the batch.
    pub(super) fn put(&mut self, at: usize, identity: Identity, no: Option<EntryNo>) {
        self.found[at] = (identity, no.unwrap_or(NOBODY));
    }

    /// What was found for `identity`, if it is the one that comes next.
    #[inline]
    pub(super) fn take(&mut self, identity: Identity) -> Option<EntryNo> {
        let (expected, no) = self.found[self.next % AHEAD_MAX];
        if expected != identity {
            return None;
        }
        self.next += 1;
        (no != NOBODY).then_some(no)
    }
}
