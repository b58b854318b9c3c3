//! The sending end: how batches are numbered, what has changed since the last one, and how many units were charged.
//!
//! Noting is on the path of every decision that charges, so it is as little as it can be: an entry's number, four bytes,
//! behind those noted before it. Callgrind counts ten instructions a decision while somebody follows (a name in place of
//! the number would take 25), and one comparison while nobody does. Who has that entry, and what was noted twice, is found
//! out when the changes are read. An entry that was forgotten until then needs no telling, since an older state of it ends
//! no later; where it might, as behind a refund or under other numbers, its name is noted.

use super::record::{BATCH_RECORDS_MAX, Name};
use super::version::Version;
use crate::table::EntryNo;

/// The numbering of what leaves one engine, and the names of what has changed.
#[derive(Debug, Default)]
pub(crate) struct Outflow {
    latest: Version,
    changes: Changes,
    following: Following,
    units_charged: u64,
}

/// What has changed: at most [`BATCH_RECORDS_MAX`] of each.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Entries that were written. One that was removed since may be another key's by now, or nobody's.
    pub(crate) entries: Vec<EntryNo>,
    /// Counters that were removed by a call, or that may end sooner than before it; slots, and reservations.
    pub(crate) names: Vec<Name>,
}

/// Whether changes are noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Following {
    #[default]
    Nobody,
    Somebody,
    /// More keys changed than can be noted, and nobody came to read them.
    Lost,
}

/// More keys changed since the last reading than are noted: whoever follows needs the whole export again.
///
/// Changes are noted anew from now on, so an export that starts after this misses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many keys changed before anybody read them: whoever follows needs the whole export again")]
pub struct ChangesLost;

impl Changes {
    fn len(&self) -> usize {
        self.entries.len() + self.names.len()
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.names.clear();
    }

    fn drop_repeated(&mut self) {
        self.entries.sort_unstable();
        self.entries.dedup();
        self.names.sort_unstable();
        self.names.dedup();
    }
}

impl Outflow {
    /// Counts batches in `epoch` from now on.
    pub(crate) fn begin_epoch(&mut self, epoch: u64) {
        assert!(epoch >= self.latest.epoch, "epochs grow");
        if epoch > self.latest.epoch {
            self.latest = Version { epoch, sequence: 0 };
        }
    }

    /// The version of a batch that is read now.
    pub(crate) fn next_version(&mut self) -> Version {
        self.latest = self.latest.next();
        self.latest
    }

    /// Notes changes from now on. The room for them is made here: noting one allocates nothing.
    pub(crate) fn follow(&mut self) {
        if self.following == Following::Nobody {
            self.following = Following::Somebody;
            self.changes.entries.reserve_exact(BATCH_RECORDS_MAX);
            self.changes.names.reserve_exact(BATCH_RECORDS_MAX);
        }
    }

    pub(crate) fn unfollow(&mut self) {
        *self = Outflow { latest: self.latest, units_charged: self.units_charged, ..Outflow::default() };
    }

    pub(crate) fn noted(&self) -> usize {
        self.changes.len()
    }

    /// Whether a reading would find something: changes, or that they are lost.
    pub(crate) fn has_changes(&self) -> bool {
        self.noted() > 0 || self.following == Following::Lost
    }

    /// Units that noted changes have charged, ever.
    pub(crate) fn units_charged(&self) -> u64 {
        self.units_charged
    }

    pub(crate) fn bytes(&self) -> usize {
        let Changes { entries, names } = &self.changes;
        entries.capacity() * size_of::<EntryNo>() + names.capacity() * size_of::<Name>()
    }

    /// Notes, if anybody wants to know, that an entry was written, and `units` charged to it.
    #[inline(always)]
    pub(crate) fn note_entry(&mut self, entry: EntryNo, units: u64) {
        if self.following != Following::Somebody {
            return;
        }
        self.units_charged = self.units_charged.wrapping_add(units);
        if self.changes.entries.len() == self.changes.entries.capacity() && !self.make_room() {
            return;
        }
        self.changes.entries.push(entry);
    }

    /// Notes, if anybody wants to know, that `name` has changed, and `units` were charged to it.
    #[inline(never)]
    pub(crate) fn note(&mut self, name: Name, units: u64) {
        if self.following != Following::Somebody {
            return;
        }
        self.units_charged = self.units_charged.wrapping_add(units);
        if self.changes.names.len() == self.changes.names.capacity() && !self.make_room() {
            return;
        }
        self.changes.names.push(name);
    }

    /// All that has changed since the last reading, to be given back when it is read.
    pub(crate) fn take_changes(&mut self) -> Result<Changes, ChangesLost> {
        if self.following == Following::Lost {
            self.following = Following::Somebody;
            return Err(ChangesLost);
        }
        Ok(std::mem::take(&mut self.changes))
    }

    /// Takes the lists back, to be filled again, from whoever has read what they say; but for `unread`.
    pub(crate) fn reuse(&mut self, mut changes: Changes, unread: &[Name]) {
        changes.clear();
        match unread.len() {
            0..=BATCH_RECORDS_MAX => changes.names.extend_from_slice(unread),
            _ => self.following = Following::Lost,
        }
        self.changes = changes;
    }

    /// Drops what was noted twice, a few milliseconds. Says whether there is room now: if not enough to be worth that time,
    /// the changes are lost.
    #[cold]
    fn make_room(&mut self) -> bool {
        self.changes.drop_repeated();
        let has_room = self.changes.entries.len().max(self.changes.names.len()) <= BATCH_RECORDS_MAX / 2;
        if !has_room {
            self.changes.clear();
            self.following = Following::Lost;
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    fn name(identity: usize) -> Name {
        Name::Reservation(Identity { placement: 0, identity: identity as u64 })
    }

    fn entry(no: usize) -> EntryNo {
        EntryNo(no as u32)
    }

    fn following() -> Outflow {
        let mut outflow = Outflow::default();
        outflow.follow();
        outflow
    }

    fn taken(outflow: &mut Outflow) -> Result<usize, ChangesLost> {
        outflow.take_changes().map(|changes| changes.len())
    }

    #[test]
    fn nothing_is_noted_for_nobody() {
        let mut outflow = Outflow::default();
        outflow.note(name(1), 1);
        outflow.note_entry(entry(1), 1);
        assert_eq!((outflow.noted(), outflow.bytes(), outflow.units_charged()), (0, 0, 0));
        assert_eq!(taken(&mut outflow), Ok(0));
    }

    #[test]
    fn what_was_taken_is_noted_no_more_but_for_what_was_not_read() {
        let mut outflow = following();
        outflow.note_entry(entry(1), 5);
        outflow.note(name(2), 7);
        let changes = outflow.take_changes().unwrap();
        assert_eq!((&changes.entries[..], &changes.names[..]), (&[entry(1)][..], &[name(2)][..]));
        outflow.reuse(changes, &[name(3)]);
        assert_eq!(outflow.take_changes().unwrap().names, [name(3)]);
        assert_eq!(outflow.units_charged(), 12);
    }

    #[test]
    fn a_few_busy_keys_are_never_too_many() {
        let mut outflow = following();
        (0..10 * BATCH_RECORDS_MAX).for_each(|no| outflow.note_entry(entry(no % (BATCH_RECORDS_MAX / 2)), 1));
        assert!(taken(&mut outflow).unwrap() <= BATCH_RECORDS_MAX);
    }

    #[test]
    fn too_many_changed_keys_are_lost_once_and_then_noted_anew() {
        let notes: [fn(&mut Outflow, usize); 2] =
            [|outflow, no| outflow.note(name(no), 0), |outflow, no| outflow.note_entry(entry(no), 0)];
        for note in notes {
            let mut outflow = following();
            (0..=BATCH_RECORDS_MAX).for_each(|no| note(&mut outflow, no));
            assert_eq!(outflow.noted(), 0);
            assert_eq!(taken(&mut outflow), Err(ChangesLost));
            note(&mut outflow, 7);
            assert_eq!(taken(&mut outflow), Ok(1));
        }
    }

    #[test]
    fn versions_grow_through_epochs_and_pauses() {
        let mut outflow = following();
        let first = outflow.next_version();
        outflow.unfollow();
        let second = outflow.next_version();
        outflow.begin_epoch(3);
        let third = outflow.next_version();
        outflow.begin_epoch(3);
        let fourth = outflow.next_version();
        assert!(first < second && second < third && third < fourth);
        assert_eq!(fourth, Version { epoch: 3, sequence: 2 });
    }
}
