//! Slots: units that are held for a time and come back by themselves.

use super::Engine;
use crate::algorithm::concurrency::{Claim, Holders};
use crate::decision::{Full, Released, Slots};
use crate::identity::Identity;
use crate::limits::{LimitId, Outcome};
use crate::table::{Entry, EntryNo};
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
        let slots = match self.table.find(identity) {
            Some(no) => self.acquire_more(now, no, limit, claim),
            None => self.acquire_first(now, identity, limit, claim),
        };
        if let Ok(slots) = slots {
            self.limits.count(limit, Outcome::of(slots.allowed));
        }
        slots
    }

    /// Gives back what `holder` holds.
    pub fn release_slot(&mut self, now: Timestamp, identity: Identity, holder: u64) -> Released {
        let now = self.advance(now);
        let Some(no) = self.table.find(identity) else { return Released { released: false, in_use: 0 } };
        let mut holders = Holders::load(self.table.get(no).words, now, &mut self.side);
        let released = Released { released: holders.remove(holder), in_use: holders.in_use() };
        self.keep_holders(no, self.table.get(no).limit, holders);
        released
    }

    fn acquire_first(
        &mut self,
        now: Timestamp,
        identity: Identity,
        limit: LimitId,
        claim: Claim,
    ) -> Result<Slots, Full> {
        let mut holders = Holders::default();
        let slots = holders.acquire(now, claim)?;
        if slots.allowed {
            self.room_for(limit, 1, claim.units)?;
            let until_us = holders.until_us().expect("the claim that was just allowed holds");
            let words = holders.store(None, &mut self.side);
            self.enter(identity, Entry { limit, words }, until_us);
        }
        Ok(slots)
    }

    fn acquire_more(&mut self, now: Timestamp, no: EntryNo, limit: LimitId, claim: Claim) -> Result<Slots, Full> {
        let mut holders = Holders::load(self.table.get(no).words, now, &mut self.side);
        let slots = holders.acquire(now, claim);
        self.keep_holders(no, limit, holders);
        if slots.is_err() {
            self.limits.count(limit, Outcome::Full);
        }
        slots
    }

    fn keep_holders(&mut self, no: EntryNo, limit: LimitId, holders: Holders) {
        let until_us = holders.until_us();
        let words = holders.store(Some(self.table.get(no).words), &mut self.side);
        match until_us {
            None => self.remove(no),
            Some(until_us) => {
                self.rearm(no, until_us);
                self.replace(no, Entry { limit, words });
            }
        }
    }
}
