//! The counters of one engine: entries by identity.

use std::collections::BTreeMap;

use crate::algorithm::Words;
use crate::identity::Identity;
use crate::limits::LimitId;

/// One key's counter: what it counts under, and its state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) limit: LimitId,
    pub(crate) words: Words,
}

/// Where an entry is, until something is inserted or removed.
pub(crate) type EntryNo = Identity;

/// Entries by identity.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: BTreeMap<Identity, Entry>,
    cursor: Option<Identity>,
}

impl Table {
    pub(crate) fn find(&self, identity: Identity) -> Option<EntryNo> {
        self.entries.contains_key(&identity).then_some(identity)
    }

    pub(crate) fn get(&self, no: EntryNo) -> &Entry {
        &self.entries[&no]
    }

    pub(crate) fn set(&mut self, no: EntryNo, entry: Entry) {
        self.entries.insert(no, entry);
    }

    pub(crate) fn insert(&mut self, identity: Identity, entry: Entry) {
        self.entries.insert(identity, entry);
    }

    pub(crate) fn remove(&mut self, no: EntryNo) {
        self.entries.remove(&no);
    }

    /// The next entry after the one visited last, going round.
    pub(crate) fn visit(&mut self) -> Option<EntryNo> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = self.cursor.map_or(Unbounded, Excluded);
        let next = self.entries.range((from, Unbounded)).next().or_else(|| self.entries.iter().next());
        self.cursor = next.map(|(&identity, _)| identity);
        self.cursor
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() * (size_of::<Identity>() + size_of::<Entry>()) * 3 / 2
    }
}
