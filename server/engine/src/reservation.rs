//! Reservations: charges that can be corrected once, while they live.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::decision::Decision;
use crate::identity::Identity;
use crate::limits::LimitId;
use crate::time::Timestamp;

/// A charge on an estimate, until it is settled or its time ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reservation {
    /// Whose budget was charged.
    pub(crate) counter: Identity,
    /// The numbers it was charged under, held until the reservation ends.
    pub(crate) limit: LimitId,
    pub(crate) charged: u64,
    pub(crate) charged_at: Timestamp,
    /// What was answered, for a caller who asks again.
    pub(crate) decision: Decision,
    /// The first microsecond at which it has expired.
    pub(crate) until_us: u64,
}

/// Reservations by name, and by the end of their time. Trees, not hash tables: no growth ever stops the shard.
#[derive(Debug)]
pub(crate) struct Reservations {
    by_name: BTreeMap<Identity, Reservation>,
    by_end: BTreeSet<(u64, Identity)>,
    reservations_max: usize,
}

impl Reservations {
    pub(crate) fn new(reservations_max: usize) -> Reservations {
        Reservations { by_name: BTreeMap::new(), by_end: BTreeSet::new(), reservations_max }
    }

    /// The live reservation of that name.
    pub(crate) fn get(&self, name: Identity, now: Timestamp) -> Option<&Reservation> {
        self.by_name.get(&name).filter(|reservation| now.as_micros() < reservation.until_us)
    }

    /// The reservation of that name, expired or not.
    pub(crate) fn contains(&self, name: Identity) -> bool {
        self.by_name.contains_key(&name)
    }

    /// Reservations in the order of their names, from the one after `name` on.
    pub(crate) fn after(&self, name: Option<Identity>) -> impl Iterator<Item = (Identity, &Reservation)> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_name.range((from, Bound::Unbounded)).map(|(&name, reservation)| (name, reservation))
    }

    /// The names of a counter's reservations, expired or not: they lie together, under its placement.
    pub(crate) fn of_counter(&self, counter: Identity) -> Vec<Identity> {
        let named = |identity| Identity { placement: counter.placement, identity };
        let of_place = self.by_name.range(named(0)..=named(u64::MAX));
        of_place.filter(|(_, reservation)| reservation.counter == counter).map(|(&name, _)| name).collect()
    }

    /// Whether so many more find room, expired ones included.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.by_name.len() + more <= self.reservations_max
    }

    /// Whether there are as many as there may be, expired ones included.
    pub(crate) fn is_full(&self) -> bool {
        self.by_name.len() >= self.reservations_max
    }

    /// Takes an expired reservation out, if there is one.
    pub(crate) fn pop_expired(&mut self, now: Timestamp) -> Option<Reservation> {
        let &(until_us, name) = self.by_end.first()?;
        if now.as_micros() < until_us {
            return None;
        }
        self.remove(name)
    }

    pub(crate) fn insert(&mut self, name: Identity, reservation: Reservation) {
        self.by_end.insert((reservation.until_us, name));
        let before = self.by_name.insert(name, reservation);
        assert!(before.is_none(), "a name is reserved again only when it was taken out");
    }

    /// Takes the reservation of that name out, expired or not.
    pub(crate) fn remove(&mut self, name: Identity) -> Option<Reservation> {
        let reservation = self.by_name.remove(&name)?;
        self.by_end.remove(&(reservation.until_us, name));
        Some(reservation)
    }

    /// Bytes of the trees, whose nodes are two thirds full on average.
    pub(crate) fn bytes(&self) -> usize {
        self.by_name.len() * (size_of::<(Identity, Reservation)>() + size_of::<(u64, Identity)>()) * 3 / 2
    }
}
