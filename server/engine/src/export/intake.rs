//! The receiving end of a transfer: what has been seen of it, so that nothing old replaces what is newer.

use std::collections::BTreeMap;

use super::record::{BATCH_RECORDS_MAX, Name};
use super::seen::Seen;
use super::version::Version;

/// Records whose versions one intake remembers: some fifteen megabytes, forgotten in some ten milliseconds.
pub const VERSIONS_MAX: usize = 4 * BATCH_RECORDS_MAX;

/// What one source's batches have brought, for the time of the transfer.
///
/// ```
/// use tallyring_engine::Intake;
/// let one_connection = Intake::in_order(); // a number
/// let bulk_beside_changes = Intake::in_any_order(); // a version a record, until `settle`
/// assert_eq!(one_connection.versions() + bulk_beside_changes.versions(), 0);
/// ```
#[derive(Debug)]
pub struct Intake {
    /// Everything up to here has arrived: what comes of it is old.
    settled: Version,
    /// The version of each record that is newer than that, deletions included. A tree: its growth never stops a shard.
    newer: BTreeMap<Name, Version>,
    arrival: Arrival,
}

#[derive(Debug)]
enum Arrival {
    InOrder,
    AnyOrder,
    /// In order, and what was brought is remembered.
    Refill(Seen),
}

impl Intake {
    /// For batches that arrive as they were read, or again, as over one connection: no record needs a version.
    pub fn in_order() -> Intake {
        Intake { settled: Version::NONE, newer: BTreeMap::new(), arrival: Arrival::InOrder }
    }

    /// For batches that may overtake each other. At most [`VERSIONS_MAX`] records between two [`settle`](Intake::settle)s.
    pub fn in_any_order() -> Intake {
        Intake { arrival: Arrival::AnyOrder, ..Intake::in_order() }
    }

    /// For batches that arrive in order, and make a range anew of which something older may be there.
    ///
    /// Remembers what it was brought, a bit a key, until [`refilled`](Intake::refilled).
    pub fn refill() -> Intake {
        Intake { arrival: Arrival::Refill(Seen::default()), ..Intake::in_order() }
    }

    /// Says that a refill is over: what it did not bring is discarded, and need not be told apart any more.
    pub fn refilled(&mut self) {
        self.arrival = Arrival::InOrder;
    }

    /// Says that every batch up to `through` has arrived: what comes of those is old from now on, and need not be
    /// remembered a record. Also a fence: to refuse an epoch and all before it, settle through its end.
    pub fn settle(&mut self, through: Version) {
        if through > self.settled {
            self.settled = through;
            self.newer.retain(|_, version| *version > through);
        }
    }

    /// Records whose versions are remembered.
    pub fn versions(&self) -> usize {
        self.newer.len()
    }

    /// Bytes of what is remembered. Trees' nodes are two thirds full on average.
    pub fn bytes(&self) -> usize {
        let seen = if let Arrival::Refill(seen) = &self.arrival { seen.bytes() } else { 0 };
        self.newer.len() * size_of::<(Name, Version)>() * 3 / 2 + seen
    }

    /// What a refill was brought.
    pub(crate) fn seen(&self) -> Option<&Seen> {
        if let Arrival::Refill(seen) = &self.arrival { Some(seen) } else { None }
    }

    pub(crate) fn seen_mut(&mut self) -> Option<&mut Seen> {
        if let Arrival::Refill(seen) = &mut self.arrival { Some(seen) } else { None }
    }

    /// Whether a batch says something that is not known to be old.
    pub(crate) fn is_open_to(&self, version: Version) -> bool {
        version > self.settled
    }

    pub(crate) fn is_news(&self, name: Name, version: Version) -> bool {
        self.is_open_to(version) && self.newer.get(&name).is_none_or(|known| version > *known)
    }

    pub(crate) fn has_room(&self, records: usize) -> bool {
        !matches!(self.arrival, Arrival::AnyOrder) || self.newer.len() + records <= VERSIONS_MAX
    }

    /// Remembers that a batch has been taken in.
    pub(crate) fn took(&mut self, version: Version, names: impl Iterator<Item = Name>) {
        match &self.arrival {
            Arrival::InOrder | Arrival::Refill(_) => self.settle(version),
            Arrival::AnyOrder => self.newer.extend(names.map(|name| (name, version))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    const fn version(epoch: u64, sequence: u64) -> Version {
        Version { epoch, sequence }
    }

    fn name(identity: u64) -> Name {
        Name::Counter(Identity { placement: 0, identity })
    }

    fn check(intake: &Intake, no: u64, version: Version, expect: bool) {
        assert_eq!(intake.is_news(name(no), version), expect, "{no} at {version}");
    }

    #[test]
    fn in_any_order_each_name_has_a_version_of_its_own() {
        let mut intake = Intake::in_any_order();
        intake.took(version(1, 5), [name(1)].into_iter());
        check(&intake, 1, version(1, 4), false);
        check(&intake, 1, version(1, 5), false);
        check(&intake, 1, version(1, 6), true);
        check(&intake, 1, version(2, 1), true);
        check(&intake, 2, version(1, 1), true);
    }

    #[test]
    fn what_is_settled_is_old_for_everybody_and_forgotten() {
        let mut intake = Intake::in_any_order();
        intake.took(version(1, 5), [name(1), name(2)].into_iter());
        intake.took(version(1, 7), [name(2)].into_iter());
        intake.settle(version(1, 6));
        assert_eq!(intake.versions(), 1);
        check(&intake, 1, version(1, 6), false);
        check(&intake, 1, version(1, 7), true);
        check(&intake, 2, version(1, 7), false);
        check(&intake, 3, version(1, 6), false);
        intake.settle(version(1, 2));
        check(&intake, 3, version(1, 6), false);
    }

    #[test]
    fn in_order_nothing_is_remembered_but_the_place() {
        let mut intake = Intake::in_order();
        intake.took(version(1, 5), (0..1_000).map(name));
        assert_eq!((intake.versions(), intake.bytes()), (0, 0));
        check(&intake, 5_000, version(1, 5), false);
        check(&intake, 1, version(1, 6), true);
    }
}
