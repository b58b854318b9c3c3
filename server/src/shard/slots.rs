//! Acquire and release: units that are held for a time.

use tallyring_engine::{Algorithm, Limit, PERIOD_US_MAX, Period, Range, Timestamp};
use tallyring_protocol::{Acquire, Release, Reply};

use super::Shard;
use super::apply::{released_reply, slots_reply};
use super::command::{Claim, Errand, Holder};
use super::refusal::Answer;
use super::reserve::{SOME_UNITS, within};
use super::session::WayBack;

/// What a hold may ask for as its time to live, in microseconds.
const TTL_US: Range = Range { min: 1, max: PERIOD_US_MAX };

/// The period of every limit of slots: each acquire brings its own time to live, so that callers who differ in nothing
/// else share one limit.
const ANY_PERIOD: Period = Period::Micros(PERIOD_US_MAX);

impl Shard {
    /// Acquires if the key is this shard's; else sends the claim to the shard whose it is.
    pub(super) fn acquire(&mut self, id: u32, acquire: &Acquire<'_>, now: Timestamp, way: &mut WayBack) -> Answer {
        let limit = Limit::new(Algorithm::Concurrency, acquire.limit, ANY_PERIOD, None)?;
        within("cost", acquire.cost, SOME_UNITS)?;
        within("ttl_us", acquire.ttl_us, TTL_US)?;
        let holder = self.seeds.holder(acquire.key, acquire.holder);
        let claim = Claim { holder, limit, cost: acquire.cost, ttl_us: acquire.ttl_us };
        Ok(self.run_or_forward(id, holder.slots.placement, Errand::Acquire(Box::new(claim)), now, way))
    }

    /// Releases if the key is this shard's; else sends the word to the shard whose it is.
    pub(super) fn release(&mut self, id: u32, release: &Release<'_>, now: Timestamp, way: &mut WayBack) -> Answer {
        let holder = self.seeds.holder(release.key, release.holder);
        Ok(self.run_or_forward(id, holder.slots.placement, Errand::Release(holder), now, way))
    }

    pub(super) fn hold(&mut self, claim: &Claim, now: Timestamp) -> Reply<'static> {
        let Claim { holder, limit, cost, ttl_us } = *claim;
        // Interned for as long as it takes: the entry keeps it from there on.
        let Ok(id) = self.engine.intern("", limit) else { return Reply::Full };
        let slots = self.engine.acquire(now, holder.slots, holder.name, id, cost, ttl_us);
        self.engine.release(id);
        slots.map_or(Reply::Full, |slots| slots_reply(slots, now))
    }

    pub(super) fn let_go(&mut self, holder: Holder, now: Timestamp) -> Reply<'static> {
        released_reply(self.engine.release_slot(now, holder.slots, holder.name))
    }
}
