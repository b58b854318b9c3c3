//! Slots that are released when they are dropped.

use std::time::Duration;

use tallyring_protocol::Key;

use crate::background::NAME_BYTES;
use crate::error::StoreError;
use crate::store::Store;
use crate::{StoreReleased, StoreSlots};

/// What an acquire asks for.
///
/// ```
/// use tallyring_client::Hold;
/// let one_of_ten = Hold::new(10, std::time::Duration::from_secs(30));
/// let three_of_them = Hold { cost: 3, ..one_of_ten };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Units that all holders of the key may hold at the same time, 1 ..= 10^12.
    pub limit: u64,
    /// Units to hold, 1 ..= 10^12.
    pub cost: u64,
    /// How long they are held if nobody releases them, at most 400 days: a gateway that dies leaks nothing.
    pub ttl: Duration,
}

impl Hold {
    /// Asks for one of `limit` units.
    pub const fn new(limit: u64, ttl: Duration) -> Hold {
        Hold { limit, cost: 1, ttl }
    }
}

/// Units that are held until this is dropped, or until their time to live ends.
///
/// ```no_run
/// # use tallyring_client::{Hold, Key, Store, StoreError};
/// # async fn example(store: Store, key: Key) -> Result<(), StoreError> {
/// let hold = Hold::new(10, std::time::Duration::from_secs(30));
/// match store.permit(&key, hold).await? {
///     Err(denied) => println!("{} are at it already", denied.in_use),
///     Ok(permit) => {
///         println!("one of {}", permit.slots().in_use);
///         // Work for less than 30 s, or `permit.renew().await`. What is dropped is released in the background.
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Permit {
    holding: Holding,
    hold: Hold,
    slots: StoreSlots,
}

impl Permit {
    pub(crate) fn new(holding: Holding, hold: Hold, slots: StoreSlots) -> Permit {
        Permit { holding, hold, slots }
    }

    /// What the store said last.
    pub fn slots(&self) -> &StoreSlots {
        &self.slots
    }

    /// The name that the store knows the holder by.
    pub fn holder(&self) -> &[u8] {
        &self.holding.holder
    }

    /// Holds on for another time to live. Denied only if the hold has ended meanwhile and others have taken the units.
    ///
    /// # Errors
    /// As [`Store::acquire`].
    pub async fn renew(&mut self) -> Result<StoreSlots, StoreError> {
        self.slots = self.holding.store.acquire(&self.holding.key, &self.holding.holder, self.hold).await?;
        Ok(self.slots)
    }

    /// Releases, and waits for the answer. If this fails or is cancelled, it goes on in the background.
    ///
    /// # Errors
    /// As [`Store::release`].
    pub async fn release(mut self) -> Result<StoreReleased, StoreError> {
        let released = self.holding.store.release(&self.holding.key, &self.holding.holder).await?;
        self.holding.end();
        Ok(released)
    }
}

/// A hold that may live in the store: released when dropped.
#[derive(Debug)]
pub(crate) struct Holding {
    store: Store,
    key: Key,
    holder: [u8; NAME_BYTES],
    is_held: bool,
}

impl Holding {
    /// One that is about to be asked for.
    pub(crate) fn new(store: &Store, key: &Key) -> Holding {
        Holding { store: store.clone(), key: key.clone(), holder: store.background().draw_name(), is_held: true }
    }

    pub(crate) fn holder(&self) -> &[u8] {
        &self.holder
    }

    /// There is nothing to release.
    pub(crate) fn end(&mut self) {
        self.is_held = false;
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if !self.is_held {
            return;
        }
        let (store, key, holder) = (self.store.clone(), self.key.clone(), self.holder);
        self.store.background().say(move || {
            let (store, key) = (store.clone(), key.clone());
            async move { store.release(&key, &holder).await.map(drop) }
        });
    }
}
