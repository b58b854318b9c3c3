//! Reserve and settle: charge an estimate now, correct it once the true cost is known.

use super::Engine;
use super::keep::{Effect, Standing};
use crate::algorithm::any::AnyCounter;
use crate::algorithm::{Budget, Counter};
use crate::decision::{Decision, Full, Settled};
use crate::export::record::Name;
use crate::identity::Identity;
use crate::limit::Ask;
use crate::limits::LimitId;
use crate::reservation::Reservation;
use crate::table::Found;
use crate::time::Timestamp;

impl Engine {
    /// Checks `ask` (of cost 1 or more) and, if it is allowed, remembers it as `reservation` for `ttl_us`.
    ///
    /// `reservation` names the key and the id: both hashed together, under the key's placement. The same name again,
    /// while it lives, repeats the first decision and charges nothing, so that a reserve can be retried.
    ///
    /// # Errors
    /// As many reservations live as there may be, or the check needs an entry that finds no room.
    pub fn reserve(
        &mut self,
        now: Timestamp,
        identity: Identity,
        reservation: Identity,
        limit: LimitId,
        ask: Ask,
        ttl_us: u64,
    ) -> Result<Decision, Full> {
        debug_assert!(ask.cost > 0, "reserving nothing is no reservation");
        let now = self.advance(now);
        if let Some(known) = self.reservations.get(reservation, now) {
            return Ok(known.decision);
        }
        self.end_reservation(reservation);
        if self.reservations.is_full() {
            self.expire_reservation(now).ok_or(Full)?;
        }
        let decision = self.check(now, identity, limit, ask)?;
        if decision.allowed {
            let charged = decision.charged.unwrap_or(ask.cost);
            let until_us = now.as_micros() + ttl_us;
            self.limits.hold(limit);
            let kept = Reservation { counter: identity, limit, charged, charged_at: now, decision, until_us };
            self.reservations.insert(reservation, kept);
            self.outflow.note(Name::Reservation(reservation), 0);
        }
        Ok(decision)
    }

    /// Corrects a reservation to what was used: by `charged - actual`, where it was charged, once.
    ///
    /// Answers `None` if there is no such reservation, or it was settled, or it has expired: then its estimate stands.
    ///
    /// # Errors
    /// More is to be charged, which needs an entry that finds no room; the reservation stays.
    pub fn settle(&mut self, now: Timestamp, reservation: Identity, actual: u64) -> Result<Option<Settled>, Full> {
        let now = self.advance(now);
        let Some(&known) = self.reservations.get(reservation, now) else { return Ok(None) };
        let settled = self.with_room(|engine| {
            let limit = engine.limit_in_force(known, now);
            let standing = engine.stand::<AnyCounter>(now, known.counter, limit);
            engine.correct(standing, known, actual)
        })?;
        self.end_reservation(reservation);
        self.outflow.note(Name::Reservation(reservation), 0);
        Ok(Some(settled))
    }

    /// When a live reservation was charged: a reserve that repeats its first decision names the first instant.
    pub fn reserved_at(&self, now: Timestamp, reservation: Identity) -> Option<Timestamp> {
        self.reservations.get(reservation, now.max(self.latest)).map(|known| known.charged_at)
    }

    /// The ceiling of the limit that a live reservation was charged under: a reserve that repeats its first decision is of
    /// that limit, whatever it came with.
    pub fn reserved_ceiling(&self, now: Timestamp, reservation: Identity) -> Option<u64> {
        self.reservations.get(reservation, now.max(self.latest)).map(|known| known.decision.limit)
    }

    /// Ends every reservation of a counter, whose charges are forgotten. Says whether one was live.
    pub(super) fn end_reservations_of(&mut self, counter: Identity, now: Timestamp) -> bool {
        let mut was_live = false;
        for name in self.reservations.of_counter(counter) {
            was_live |= self.reservations.get(name, now).is_some();
            self.end_reservation(name);
            self.outflow.note(Name::Reservation(name), 0);
        }
        was_live
    }

    /// Drops one expired reservation. Says whether there was one.
    pub(super) fn expire_reservation(&mut self, now: Timestamp) -> Option<()> {
        let expired = self.reservations.pop_expired(now)?;
        self.limits.release(expired.limit);
        Some(())
    }

    pub(super) fn end_reservation(&mut self, reservation: Identity) {
        if let Some(ended) = self.reservations.remove(reservation) {
            self.limits.release(ended.limit);
        }
    }

    /// The limit that the reserved key's state has, or the reservation's own if that state is fresh.
    fn limit_in_force(&mut self, known: Reservation, now: Timestamp) -> LimitId {
        match self.table.find(known.counter) {
            Some(Found { no, entry }) if !self.is_whole(no, now) => entry.limit,
            _ => known.limit,
        }
    }

    fn correct(
        &mut self,
        mut standing: Standing<AnyCounter>,
        known: Reservation,
        actual: u64,
    ) -> Result<Settled, Full> {
        let counter = &mut standing.counter;
        counter.refund(known.charged.saturating_sub(actual), Some(known.charged_at));
        let more = actual.saturating_sub(known.charged);
        if more > 0 {
            counter.charge_late(more, known.charged_at);
        }
        let settled = Settled { remaining: counter.remaining(), reset_after_us: counter.wait_until_whole() };
        let changed = if counter.is_whole() { 0 } else { more };
        let room = self.room_for(standing.limit, standing.growth(changed));
        if room.is_err() {
            standing.counter.refund(changed, Some(known.charged_at));
            self.conclude(standing, Effect::Nothing);
            return room.map(|()| settled);
        }
        self.conclude(standing, if changed > 0 { Effect::Charged(changed) } else { Effect::Refunded });
        Ok(settled)
    }
}
