//! A reservation that settles itself when it is dropped.

use tallyring_protocol::Key;

use crate::background::NAME_BYTES;
use crate::error::StoreError;
use crate::store::Store;
use crate::{StoreDecision, StoreSettled};

/// Units that were charged on an estimate, until it is known what was used.
///
/// Dropped without a [`settle`](Reservation::settle), as when a request is cancelled, it is settled in the background to
/// what was [noted](Reservation::note_used) last. If nothing was noted the estimate stands: a limiter rather counts too
/// much than too little.
///
/// ```no_run
/// # use tallyring_client::{Ask, Key, LimitHandle, Store, StoreError};
/// # async fn example(store: Store, tokens: LimitHandle, key: Key) -> Result<(), StoreError> {
/// let ttl = std::time::Duration::from_secs(60);
/// match store.reservation(&tokens, &key, Ask::new(800), ttl).await? {
///     Err(denied) => println!("again in {} us", denied.retry_after_us),
///     Ok(mut reservation) => {
///         reservation.note_used(0); // whatever happens from here on, only what was used is paid
///         for chunk in [120, 90] {
///             reservation.note_used(reservation.used().unwrap_or(0) + chunk);
///         }
///         reservation.settle(210).await?;
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Reservation {
    open: Open,
    decision: StoreDecision,
}

impl Reservation {
    pub(crate) fn new(open: Open, decision: StoreDecision) -> Reservation {
        Reservation { open, decision }
    }

    /// What the store decided when it charged the estimate.
    pub fn decision(&self) -> &StoreDecision {
        &self.decision
    }

    /// The id that the store knows it by.
    pub fn id(&self) -> &[u8] {
        &self.open.id
    }

    /// Notes what was used so far, in all: what a drop settles to.
    pub fn note_used(&mut self, units: u64) {
        self.open.last_word = Some(units);
    }

    /// What was noted last.
    pub fn used(&self) -> Option<u64> {
        self.open.last_word
    }

    /// Corrects the charge to what was used. `None` if the reservation has expired, or if the answer to a first attempt
    /// was lost. If this fails or is cancelled, it goes on in the background.
    ///
    /// # Errors
    /// As [`Store::settle`].
    pub async fn settle(mut self, actual: u64) -> Result<Option<StoreSettled>, StoreError> {
        self.note_used(actual);
        let settled = self.open.store.settle(&self.open.key, &self.open.id, actual).await?;
        self.open.close();
        Ok(settled)
    }
}

/// A reservation that may live in the store, and what is to be said if nobody says anything else.
#[derive(Debug)]
pub(crate) struct Open {
    store: Store,
    key: Key,
    id: [u8; NAME_BYTES],
    last_word: Option<u64>,
}

impl Open {
    /// One that is about to be asked for: if that is given up, nothing was used.
    pub(crate) fn new(store: &Store, key: &Key) -> Open {
        Open { store: store.clone(), key: key.clone(), id: store.background().draw_name(), last_word: Some(0) }
    }

    pub(crate) fn id(&self) -> &[u8] {
        &self.id
    }

    /// There is nothing to say.
    pub(crate) fn close(&mut self) {
        self.last_word = None;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Some(actual) = self.last_word else { return };
        let (store, key, id) = (self.store.clone(), self.key.clone(), self.id);
        self.store.background().say(move || {
            let (store, key) = (store.clone(), key.clone());
            async move { store.settle(&key, &id, actual).await.map(drop) }
        });
    }
}
