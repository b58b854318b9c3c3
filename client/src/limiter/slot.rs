//! One slot that a request holds: in the store, and in this gateway's own count of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tallyring_engine::{Full, Slots, Wait};

use super::Inner;
use crate::fallback::Whose;
use crate::permit::{Hold, Permit};

/// Released when dropped: here at once, in the store in the background.
#[derive(Debug)]
pub(crate) struct Slot {
    inner: Arc<Inner>,
    identity: u64,
    /// What the local count knows it by.
    holder: u64,
    /// The store's; none while the store is gone.
    permit: Option<Permit>,
}

impl Slot {
    /// A slot that the store has given. It is counted here too, so that the share is not handed out afresh when the
    /// store goes; if the share is full already there is nothing more to keep.
    pub(super) fn of_store(inner: &Arc<Inner>, whose: Whose<'_>, hold: Hold, permit: Permit) -> Slot {
        let slot = Slot::new(inner, whose, Some(permit));
        let _ = slot.count(whose, hold);
        slot
    }

    /// A slot of this gateway's share.
    pub(super) fn alone(inner: &Arc<Inner>, whose: Whose<'_>, hold: Hold) -> (Slots, Option<Slot>) {
        let slot = Slot::new(inner, whose, None);
        match slot.count(whose, hold) {
            Ok(slots) if slots.allowed => (slots, Some(slot)),
            Ok(denied) => (denied, None),
            Err(Full) => (no_room(hold), None),
        }
    }

    /// Whether the store knows of it too.
    pub(super) fn is_of_store(&self) -> bool {
        self.permit.is_some()
    }

    fn new(inner: &Arc<Inner>, whose: Whose<'_>, permit: Option<Permit>) -> Slot {
        let holder = inner.holders.fetch_add(1, Ordering::Relaxed);
        Slot { inner: Arc::clone(inner), identity: whose.identity, holder, permit }
    }

    fn count(&self, whose: Whose<'_>, hold: Hold) -> Result<Slots, Full> {
        let ttl_us = u64::try_from(hold.ttl.as_micros()).unwrap_or(u64::MAX);
        self.inner.fallback.acquire(self.inner.now(), whose, self.holder, hold.cost, ttl_us)
    }

    /// Gives it back, and waits until the store knows. What fails goes on in the background.
    pub(super) async fn release(mut self) {
        if let Some(permit) = self.permit.take() {
            let _ = permit.release().await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.inner.fallback.release(self.inner.now(), self.identity, self.holder);
    }
}

fn no_room(hold: Hold) -> Slots {
    let ttl_us = hold.ttl.as_micros();
    Slots { allowed: false, limit: hold.limit, in_use: hold.limit, retry_after: Wait::Micros(ttl_us) }
}
