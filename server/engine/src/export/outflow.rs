//! The sending end: how batches are numbered, and which keys have changed since the last one.

use super::record::{BATCH_RECORDS_MAX, Name};
use super::version::Version;

/// The numbering of what leaves one engine, and the names of what has changed.
#[derive(Debug, Default)]
pub(crate) struct Outflow {
    latest: Version,
    noted: Vec<Name>,
    following: Following,
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
            self.noted.reserve_exact(BATCH_RECORDS_MAX);
        }
    }

    pub(crate) fn unfollow(&mut self) {
        *self = Outflow { latest: self.latest, ..Outflow::default() };
    }

    pub(crate) fn noted(&self) -> usize {
        self.noted.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.noted.capacity() * size_of::<Name>()
    }

    /// Notes that `name` has changed, if anybody wants to know.
    #[inline(always)]
    pub(crate) fn note(&mut self, name: Name) {
        if self.following == Following::Somebody {
            self.note_change(name);
        }
    }

    fn note_change(&mut self, name: Name) {
        if self.noted.last() == Some(&name) {
            return;
        }
        if self.noted.len() == BATCH_RECORDS_MAX && !self.make_room() {
            self.noted.clear();
            self.following = Following::Lost;
            return;
        }
        self.noted.push(name);
    }

    /// The names of all that has changed since the last reading, each once.
    pub(crate) fn take_changes(&mut self) -> Result<Vec<Name>, ChangesLost> {
        if self.following == Following::Lost {
            self.following = Following::Somebody;
            return Err(ChangesLost);
        }
        self.drop_repeated();
        Ok(std::mem::take(&mut self.noted))
    }

    /// Takes the list back, to be filled again, from whoever has read what it names.
    pub(crate) fn reuse(&mut self, mut names: Vec<Name>) {
        names.clear();
        self.noted = names;
    }

    /// Drops what was noted twice. Says whether that made enough room to be worth its time, a few milliseconds.
    fn make_room(&mut self) -> bool {
        self.drop_repeated();
        self.noted.len() <= BATCH_RECORDS_MAX / 2
    }

    fn drop_repeated(&mut self) {
        self.noted.sort_unstable();
        self.noted.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    fn name(identity: usize) -> Name {
        Name::Counter(Identity { placement: 0, identity: identity as u64 })
    }

    fn following() -> Outflow {
        let mut outflow = Outflow::default();
        outflow.follow();
        outflow
    }

    #[test]
    fn nothing_is_noted_for_nobody() {
        let mut outflow = Outflow::default();
        outflow.note(name(1));
        assert_eq!((outflow.noted(), outflow.bytes()), (0, 0));
        assert_eq!(outflow.take_changes(), Ok(vec![]));
    }

    #[test]
    fn a_key_that_changes_often_is_read_once() {
        let mut outflow = following();
        [3, 3, 1, 3, 1].into_iter().for_each(|no| outflow.note(name(no)));
        assert_eq!(outflow.take_changes(), Ok(vec![name(1), name(3)]));
        assert_eq!(outflow.take_changes(), Ok(vec![]));
    }

    #[test]
    fn a_few_busy_keys_are_never_too_many() {
        let mut outflow = following();
        (0..10 * BATCH_RECORDS_MAX).for_each(|no| outflow.note(name(no % (BATCH_RECORDS_MAX / 2))));
        assert_eq!(outflow.take_changes().map(|names| names.len()), Ok(BATCH_RECORDS_MAX / 2));
    }

    #[test]
    fn too_many_changed_keys_are_lost_once_and_then_noted_anew() {
        let mut outflow = following();
        (0..=BATCH_RECORDS_MAX).for_each(|no| outflow.note(name(no)));
        assert_eq!(outflow.noted(), 0);
        assert_eq!(outflow.take_changes(), Err(ChangesLost));
        outflow.note(name(7));
        assert_eq!(outflow.take_changes(), Ok(vec![name(7)]));
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
