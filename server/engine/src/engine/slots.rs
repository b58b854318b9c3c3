//! Slots: units that are held for a time and come back by themselves.

use super::Engine;
use super::keep::Growth;
use crate::algorithm::concurrency::{Claim, Holders};
use crate::decision::{Full, Released, Slots};
use crate::export::record::Name;
use crate::identity::Identity;
use crate::limits::{LimitId, Outcome};
use crate::table::{Entry, Found};
use crate::time::Timestamp;

impl Engine {
    /// Acquires `cost` units (at least 1) for `holder` until `ttl_us` from now; the same holder renews.
    ///
    /// `holder` is a keyed hash of the holder's name. A holder that dies gives its units back when its time ends.
    ///
    /// # Errors
    /// The call would be allowed, but the key has 10,000 holders, or there is no room for a new one.
    pub fn acquire(
        &mut self,
        now: Timestamp,
        identity: Identity,
        holder: u64,
        limit: LimitId,
        cost: u64,
        ttl_us: u64,
    ) -> Result<Slots, Full> {
        debug_assert!(cost > 0, "holding nothing is no hold");
        let now = self.advance(now);
        let claim = Claim { holder, units: cost, limit: self.limits.get(limit).limit(), ttl_us };
        let slots = self.with_room(|engine| match engine.table.find(identity) {
            Some(found) => engine.acquire_more(now, found, limit, claim),
            None => engine.acquire_first(now, identity, limit, claim),
        });
        self.limits.count(limit, Outcome::of_call(&slots, |slots| slots.allowed));
        if slots.is_ok_and(|slots| slots.allowed) {
            self.outflow.note(Name::Counter(identity), cost);
        }
        slots
    }

    /// Gives back what `holder` holds.
    pub fn release_slot(&mut self, now: Timestamp, identity: Identity, holder: u64) -> Released {
        let now = self.advance(now);
        let Some(found) = self.table.find(identity) else { return Released { released: false, in_use: 0 } };
        let mut holders = Holders::load(found.entry.words, now, &mut self.side);
        let released = Released { released: holders.remove(holder), in_use: holders.in_use() };
        self.keep_holders(found, found.entry.limit, holders);
        if released.released {
            self.outflow.note(Name::Counter(identity), 0);
        }
        released
    }

    fn acquire_first(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        claim: Claim,
    ) -> Result<Slots, Full> {
        let room = self.room_for(limit, Growth { keys: 1, heap: true });
        let mut holders = Holders::default();
        let slots = holders.acquire(now, claim, room)?;
        if slots.allowed {
            let until_us = holders.until_us().expect("the claim that was just allowed holds");
            let words = holders.store(None, &mut self.side);
            self.enter(identity, Entry { limit, words }, until_us);
        }
        Ok(slots)
    }

    fn acquire_more(&mut self, now: Timestamp, found: Found, limit: LimitId, claim: Claim) -> Result<Slots, Full> {
        let room = self.room_for(limit, Growth { keys: 0, heap: true });
        let mut holders = Holders::load(found.entry.words, now, &mut self.side);
        let slots = holders.acquire(now, claim, room);
        let is_allowed = slots.is_ok_and(|slots| slots.allowed);
        self.keep_holders(found, if is_allowed { limit } else { found.entry.limit }, holders);
        slots
    }

    pub(super) fn keep_holders(&mut self, found: Found, limit: LimitId, holders: Holders) {
        let until_us = holders.until_us();
        let words = holders.store(Some(found.entry.words), &mut self.side);
        match until_us {
            None => self.remove(found.no),
            Some(until_us) => {
                self.rearm(found.no, until_us);
                self.replace(found, Entry { limit, words });
            }
        }
    }
}
