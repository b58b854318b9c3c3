//! Reserve and settle: a charge that can be corrected once.

use std::sync::Arc;

use tallyring_engine::{Ask, Identity, Invalid, LimitId, RESERVATION_TTL_US_MAX, Range, Reason, Timestamp, UNITS_MAX};
use tallyring_protocol::{AlgorithmCode, KeyRef, Reply, Reserve, Settle};

use super::Shard;
use super::apply::{decision_reply, settled_reply};
use super::command::{Booking, Errand};
use super::refusal::Answer;
use super::session::{Session, WayBack};
use super::turn::Route;

/// Units of a charge that cannot be a peek.
pub(super) const SOME_UNITS: Range = Range { min: 1, max: UNITS_MAX };

/// What a reservation may ask for as its time to live, in microseconds.
const TTL_US: Range = Range { min: 1, max: RESERVATION_TTL_US_MAX };

impl Shard {
    /// Books a reservation if its key is this shard's; else sends it to the shard whose it is.
    pub(super) fn reserve(&mut self, id: u32, reserve: &Reserve<'_>, now: Timestamp, session: &mut Session) -> Answer {
        let Reserve { charge, ttl_us, id: name } = *reserve;
        let limit = session.handle(charge.handle)?;
        within("cost", charge.cost, SOME_UNITS)?;
        let ask = Ask::try_new(charge.cost, charge.keep, charge.force)?;
        within("ttl_us", ttl_us, TTL_US)?;
        let booking = self.booking(charge.key, limit.algorithm, name, ask, ttl_us);
        match self.route(booking.counter.placement) {
            Route::Here => Ok(Some(self.book(limit.id, &booking, now))),
            Route::Abroad(placement) => Ok(Some(self.territory.refusal(placement))),
            Route::Sibling(shard) => {
                let errand = Errand::Reserve(Arc::clone(&limit.definition), Box::new(booking));
                Ok(self.forward(id, errand, shard, &mut session.way))
            }
        }
    }

    pub(super) fn booking(
        &self,
        key: KeyRef<'_>,
        algorithm: AlgorithmCode,
        name: &[u8],
        ask: Ask,
        ttl_us: u64,
    ) -> Booking {
        let counter = self.seeds.identify(key, algorithm);
        Booking { counter, reservation: self.seeds.reservation(key, name), ask, ttl_us }
    }

    /// Corrects a reservation if its key is this shard's; else sends the correction to the shard whose it is.
    pub(super) fn settle(&mut self, id: u32, settle: &Settle<'_>, now: Timestamp, way: &mut WayBack) -> Answer {
        within("actual", settle.actual, Range { min: 0, max: UNITS_MAX })?;
        let reservation = self.seeds.reservation(settle.key, settle.id);
        let errand = Errand::Settle { reservation, actual: settle.actual };
        Ok(self.run_or_forward(id, reservation.placement, errand, now, way))
    }

    pub(super) fn book(&mut self, limit: LimitId, booking: &Booking, now: Timestamp) -> Reply<'static> {
        let Booking { counter, reservation, ask, ttl_us } = *booking;
        let decided = self.engine.reserve(now, counter, reservation, limit, ask, ttl_us);
        let charged_at = self.engine.reserved_at(now, reservation).unwrap_or(now);
        decided.map_or(Reply::Full, |decision| decision_reply(decision, charged_at))
    }

    pub(super) fn correct(&mut self, reservation: Identity, actual: u64, now: Timestamp) -> Reply<'static> {
        self.engine.settle(now, reservation, actual).map_or(Reply::Full, settled_reply)
    }
}

/// Whether a number that came from outside is in its range.
pub(super) fn within(field: &'static str, found: u64, allowed: Range) -> Result<(), Invalid> {
    if (allowed.min..=allowed.max).contains(&found) {
        return Ok(());
    }
    Err(Invalid { field, reason: Reason::OutOfRange { found, allowed } })
}
