//! Reserve and settle: charge an estimate, correct it once the true cost is known.

use std::time::Duration;

use tallyring_engine::Ask;
use tallyring_protocol::{Charge, Key, Request, Reserve, Settle};

use super::{Store, decision, micros, named};
use crate::connection::Answer;
use crate::definition::LimitHandle;
use crate::error::StoreError;
use crate::reservation::{Open, Reservation};
use crate::{StoreDecision, StoreSettled};

impl Store {
    /// A check of cost 1 or more whose units can be corrected once within `ttl`, at most a day, by a settle of the same
    /// `key` and `id` of 1 ..= 128 bytes. The same id again, while it is live, repeats the first decision and charges
    /// nothing; so a reserve that was lost on the way is sent again, within the deadline.
    ///
    /// [`Store::reservation`] draws an id and settles by itself.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn reserve(
        &self,
        limit: &LimitHandle,
        key: &Key,
        id: &[u8],
        ask: Ask,
        ttl: Duration,
    ) -> Result<StoreDecision, StoreError> {
        let Ask { cost, keep, force } = ask;
        let charge = Charge { handle: limit.handle(), cost, keep, force, key: key.as_ref() };
        let reserve = Reserve { charge, ttl_us: micros(ttl), id: named("id", id)? };
        decision(self.call(key.as_ref(), Request::Reserve(reserve), &[limit]).await)
    }

    /// Corrects a reservation to what was used, where its units were charged. `None` if there is none: it was never made,
    /// has expired, or is settled already, maybe by this call's first attempt, whose answer was lost.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn settle(&self, key: &Key, id: &[u8], actual: u64) -> Result<Option<StoreSettled>, StoreError> {
        let settle = Settle { actual, id: named("id", id)?, key: key.as_ref() };
        match self.call(key.as_ref(), Request::Settle(settle), &[]).await? {
            Answer::Settled(settled) => Ok(settled),
            _ => Err(StoreError::Unexpected),
        }
    }

    /// Reserves under an id of its own, and settles when the reservation is dropped: see [`Reservation`]. A call that is
    /// cancelled, or fails so that nobody knows whether it was charged, is settled to nothing in the background.
    ///
    /// The inner error is a denial.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn reservation(
        &self,
        limit: &LimitHandle,
        key: &Key,
        ask: Ask,
        ttl: Duration,
    ) -> Result<Result<Reservation, StoreDecision>, StoreError> {
        let mut open = Open::new(self, key);
        let decision = self.reserve(limit, key, open.id(), ask, ttl).await.inspect_err(|error| {
            if !error.leaves_doubt() {
                open.close();
            }
        })?;
        open.close();
        Ok(if decision.allowed { Ok(Reservation::new(open, decision)) } else { Err(decision) })
    }
}
