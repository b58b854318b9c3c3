//! What a limiter does beside its calls: tells the store what was decided here, and charges it with what the fallback
//! admitted.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tallyring_protocol::{LocalCounts, Report};

use super::{Inner, Snapshot};
use crate::arrears::Owed;
use crate::error::StoreError;

/// How often there is a look at what is owed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks between two reports: a second.
const LOOKS_A_REPORT: u32 = 10;

/// Keys that are charged with what they owe before the next look, so that a store that has just come back is not asked
/// for all of it at once.
const CHARGES_PER_LOOK_MAX: usize = 1_000;

/// Looks after a limiter until it is gone.
pub(super) async fn keep_up(inner: Weak<Inner>) {
    for look in 1u32.. {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        if !inner.store.is_connected() {
            continue;
        }
        inner.pay().await;
        if look.is_multiple_of(LOOKS_A_REPORT) {
            let snapshot = inner.snapshot.load_full();
            inner.report(&snapshot).await;
        }
    }
}

impl Inner {
    /// Charges the store with what the fallback admitted while it was gone.
    async fn pay(&self) {
        if self.arrears.is_empty() {
            return;
        }
        let mut owed = self.arrears.take(self.now(), CHARGES_PER_LOOK_MAX).into_iter();
        while let Some(debt) = owed.next() {
            if let Err(error) = self.charge(&debt).await {
                tracing::debug!(%error, "what the fallback admitted is charged later");
                owed.chain([debt]).for_each(|debt| self.arrears.put_back(debt));
                return;
            }
        }
    }

    /// Charges one key; an error if it surely was not.
    async fn charge(&self, debt: &Owed) -> Result<(), StoreError> {
        let ask = tallyring_engine::Ask { cost: debt.units, keep: 0, force: true };
        match self.store.check(&debt.limit, &debt.key, ask).await {
            Ok(_) => self.arrears.charged(debt),
            Err(error) if error.is_undone() => return Err(error),
            Err(_) => self.arrears.lost(debt), // it may have been charged: once is enough
        }
        Ok(())
    }

    /// Reports what was decided here by the rules of a snapshot.
    pub(super) async fn report(&self, snapshot: &Arc<Snapshot>) {
        for (rule, limited) in snapshot.by_id() {
            let counts = limited.unreported.take();
            if counts == LocalCounts::default() {
                continue;
            }
            let report = Report { rule, shadow: limited.is_shadow(), counts };
            if let Err(error) = self.store.report(report).await {
                tracing::debug!(%error, rule, "what was decided here is reported later");
                limited.unreported.put_back(&counts);
                return;
            }
        }
    }
}
