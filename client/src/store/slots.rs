//! Acquire and release: units that are held at the same time.

use tallyring_protocol::{Acquire, Key, Release, Request};

use super::{Store, micros, named};
use crate::connection::Answer;
use crate::error::StoreError;
use crate::permit::{Hold, Holding, Permit};
use crate::{StoreReleased, StoreSlots};

impl Store {
    /// Holds units of `key` for `holder`, a name of 1 ..= 128 bytes that no other holder of the key has, until they are
    /// released or their time to live ends. The same holder again renews; so an acquire that was lost on the way is sent
    /// again, within the deadline.
    ///
    /// [`Store::permit`] draws a name and releases by itself.
    ///
    /// # Errors
    /// As [`Store::check`]; [`StoreError::Full`] also for one holder more than a key may have.
    pub async fn acquire(&self, key: &Key, holder: &[u8], hold: Hold) -> Result<StoreSlots, StoreError> {
        let Hold { limit, cost, ttl } = hold;
        let acquire = Acquire { limit, ttl_us: micros(ttl), cost, holder: named("holder", holder)?, key: key.as_ref() };
        match self.call(key.as_ref(), Request::Acquire(acquire), &[]).await? {
            Answer::Slots(slots) => Ok(slots),
            _ => Err(StoreError::Unexpected),
        }
    }

    /// Gives back what `holder` holds of `key`, and says whether it held something.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn release(&self, key: &Key, holder: &[u8]) -> Result<StoreReleased, StoreError> {
        let release = Release { holder: named("holder", holder)?, key: key.as_ref() };
        match self.call(key.as_ref(), Request::Release(release), &[]).await? {
            Answer::Released(released) => Ok(released),
            _ => Err(StoreError::Unexpected),
        }
    }

    /// Acquires under a name of its own, and releases when the permit is dropped: see [`Permit`]. A call that is
    /// cancelled, or fails so that nobody knows what is held, is released in the background.
    ///
    /// The inner error is a denial.
    ///
    /// # Errors
    /// As [`Store::acquire`].
    pub async fn permit(&self, key: &Key, hold: Hold) -> Result<Result<Permit, StoreSlots>, StoreError> {
        let mut holding = Holding::new(self, key);
        let slots = self.acquire(key, holding.holder(), hold).await.inspect_err(|error| {
            if !error.leaves_doubt() {
                holding.end();
            }
        })?;
        if slots.allowed {
            return Ok(Ok(Permit::new(holding, hold, slots)));
        }
        holding.end();
        Ok(Err(slots))
    }
}
