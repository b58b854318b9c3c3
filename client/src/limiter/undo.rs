//! Giving back what a denied call was charged by some of the rules.

use std::sync::Arc;

use tallyring_protocol::Key;
use tokio::task::JoinHandle;

use super::tab::Part;
use super::{Inner, Slot};
use crate::StoreDecision;
use crate::definition::LimitHandle;
use crate::reservation::Reservation;

/// How often a refund that surely was not made is tried.
const ATTEMPTS_MAX: u32 = 3;

/// One thing that the store has to be told.
#[derive(Debug)]
pub(super) enum Word {
    /// Take these units back, where they were charged.
    Refund(Refund),
    /// Nothing of the estimate was used.
    Settle(Reservation),
    /// Nobody holds this slot.
    Release(Slot),
}

/// Units to give back.
#[derive(Debug)]
pub(super) struct Refund {
    /// The part of the call that they are of.
    at: usize,
    limit: LimitHandle,
    key: Key,
    identity: u64,
    units: u64,
    charged_at_us: u64,
}

impl Word {
    pub(super) fn refund(at: usize, limit: &LimitHandle, part: &Part, units: u64, charged_at_us: u64) -> Word {
        let (limit, key, identity) = (limit.clone(), part.key.clone(), part.identity);
        Word::Refund(Refund { at, limit, key, identity, units, charged_at_us })
    }
}

/// What is left under those parts of the call that were given back.
pub(super) type Left = Vec<(usize, StoreDecision)>;

/// Tells the store in a task of its own, which goes on if nobody waits for it.
pub(super) fn tell(inner: &Arc<Inner>, words: Vec<Word>) -> Option<JoinHandle<Left>> {
    let told = tell_each(Arc::clone(inner), words);
    inner.store.background().tell(told)
}

async fn tell_each(inner: Arc<Inner>, words: Vec<Word>) -> Left {
    let mut left = Vec::new();
    for word in words {
        match word {
            Word::Refund(refund) => {
                let decision = refund.run(&inner).await;
                left.extend(decision.map(|decision| (refund.at, decision)));
            }
            // What fails goes on in the background.
            Word::Settle(reservation) => drop(reservation.settle(0).await),
            Word::Release(slot) => slot.release().await,
        }
    }
    left
}

impl Refund {
    async fn run(&self, inner: &Inner) -> Option<StoreDecision> {
        let Refund { limit, key, units, charged_at_us, .. } = self;
        for _ in 0..ATTEMPTS_MAX {
            match inner.store.refund(limit, key, *units, Some(*charged_at_us)).await {
                Ok(decision) => {
                    inner.deny.cancel(self.identity);
                    return Some(decision);
                }
                Err(error) if !error.is_undone() => return None, // it may have been made: once is enough
                Err(error) => tracing::debug!(%error, "a refund was not made"),
            }
        }
        None
    }
}
