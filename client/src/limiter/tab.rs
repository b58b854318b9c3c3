//! A tab: one call while it is decided, rule after rule, all or nothing.
//!
//! ```text
//! blocked? refused lately? over the limit by our own count?  ── yes ─► denied, nobody was asked
//!   │ no
//! grants ─► batches of rules that share a shard, in the document's order ─► slots
//!   │ everybody allowed                        │ somebody denied: the rest is only looked at
//!   ▼                                          ▼
//! admitted: charged locally too,             denied: what was charged is given back, at the
//! then the rules in shadow are asked         instant of its charge, before the answer
//! ```
//! Rules of one identity share a shard, so nearly every call is one batch, and that is atomic by itself. Only when
//! several shards are asked can one be charged before another denies. A tab that is dropped half-way, because its caller
//! was cancelled, gives back in the background.
//!
//! While the store is known to be gone all of that is decided in one go, by the [fallback](crate::fallback).
//!
//! Invariants:
//! - What a denied call was charged is on its way back before the answer is given.
//! - The whole takes no longer than one deadline of the store.

mod ask;
mod give_back;
mod here;
mod part;

use std::sync::Arc;
use std::time::Duration;

use tallyring_engine::Timestamp;
use tallyring_protocol::rules::{Resolution, Winner};

pub(super) use self::part::Part;
use super::call::{Call, GroupFilter};
use super::slot::Slot;
use super::snapshot::{Limited, Snapshot};
use super::{Inner, shadow};
use crate::decision::{Decision, Source};
use crate::error::StoreError;
use crate::fallback::Whose;
use crate::held::Held;
use crate::reservation::Reservation;
use crate::sys::clock::{self, Instant};

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Tab<'l> {
    inner: &'l Arc<Inner>,
    snapshot: Arc<Snapshot>,
    parts: Vec<Part>,
    shadows: Vec<Part>,
    manner: Manner,
    slots: Vec<Slot>,
    /// When the call was made.
    opened: Instant,
    /// The present: when the call was made, then whenever the store has answered. One reading serves all rules.
    now: Timestamp,
}

/// How units are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// For good.
    Check,
    /// On an estimate that can be corrected for so long.
    Reserve(Duration),
}

impl<'l> Tab<'l> {
    /// Finds out which rules apply; nothing is asked yet, and the call is not needed any more.
    pub(crate) fn open(inner: &'l Arc<Inner>, call: &Call<'_>, groups: &GroupFilter, manner: Manner) -> Tab<'l> {
        let (snapshot, opened) = (inner.snapshot.load_full(), clock::now());
        let Resolution { enforced, shadow } = snapshot.rules.resolve(&call.subject);
        let parts = parts_of(inner, enforced.into_iter(), call, groups);
        let shadows = parts_of(inner, shadow.into_iter(), call, groups);
        Tab { inner, parts, shadows, manner, slots: Vec::new(), opened, now: inner.clock.at(opened), snapshot }
    }

    /// Decides.
    pub(crate) async fn decide(mut self) -> Decision {
        self.run().await;
        self.finish()
    }

    /// Decides, and hands over the reservations that were made, beside what was charged here alone.
    pub(crate) async fn reserve(mut self) -> (Decision, Vec<Reservation>) {
        self.run().await;
        let reservations = self.parts.iter_mut().filter_map(|part| part.verdict.as_mut()?.take_reservation()).collect();
        (self.finish(), reservations)
    }

    /// Gives the keys of every rule that applies their whole budget back, here and in the store.
    pub(crate) async fn reset(mut self) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        let parts = std::mem::take(&mut self.parts).into_iter().chain(std::mem::take(&mut self.shadows));
        for part in parts.filter(|part| part.identity != 0) {
            self.inner.forget(self.snapshot.limited(part.order), part.identity);
            let reset = self.inner.store.reset(&part.key).await;
            self.inner.deny.cancel(part.identity);
            outcome = outcome.and(reset.map(drop));
        }
        outcome
    }

    async fn run(&mut self) {
        if !self.decide_here() {
            // Boxed: a decision from memory would otherwise be moved about with the state of every question.
            Box::pin(self.run_with_store()).await;
        }
    }

    async fn run_with_store(&mut self) {
        self.ask_store().await;
        if self.is_denied() {
            self.give_back().await;
        }
    }

    /// When the last question of this call ends.
    fn deadline(&self) -> Instant {
        self.opened + self.inner.store.deadline()
    }

    fn limited(&self, at: usize) -> &Limited {
        self.snapshot.limited(self.parts[at].order)
    }

    fn whose(&self, at: usize) -> Whose<'_> {
        self.inner.whose(self.limited(at), self.parts[at].identity)
    }

    fn is_denied(&self) -> bool {
        self.parts.iter().any(|part| part.verdict.as_ref().is_some_and(|verdict| !verdict.allowed))
    }

    /// Indices of the parts that are not decided and count units: slots are for later.
    fn open_units(&self) -> impl Iterator<Item = usize> {
        (0..self.parts.len()).filter(|at| self.parts[*at].is_open() && !self.limited(*at).is_slots())
    }

    /// The next part that is for slots, if nobody has denied.
    fn next_slots(&self) -> Option<usize> {
        if self.is_denied() {
            return None;
        }
        (0..self.parts.len()).find(|at| self.parts[*at].is_open() && self.limited(*at).is_slots())
    }

    fn finish(mut self) -> Decision {
        let is_allowed = !self.is_denied();
        for at in 0..self.parts.len() {
            self.conclude(at, is_allowed);
        }
        let mut held = Held::new(std::mem::take(&mut self.slots));
        if is_allowed {
            shadow::ask(self.inner, &self.snapshot, std::mem::take(&mut self.shadows), &mut held);
        }
        let mut checks = Vec::with_capacity(self.parts.len());
        for part in std::mem::take(&mut self.parts) {
            checks.extend(part.into_decision(&self.snapshot));
        }
        let decision = Decision::new(checks, self.snapshot.version, held);
        decision.soft().for_each(|check| self.snapshot.limited(check.rule.order()).unreported.count_soft());
        decision
    }

    /// Counts what was decided, and keeps the local copies in step with what was admitted.
    fn conclude(&self, at: usize, is_allowed: bool) {
        let (part, limited) = (&self.parts[at], self.limited(at));
        let Some(verdict) = part.verdict.as_ref().filter(|verdict| verdict.is_known) else { return };
        self.inner.tally.count(verdict.source, verdict.allowed);
        limited.unreported.count(verdict.source, verdict.allowed);
        let units = verdict.units();
        if !is_allowed || units == 0 {
            return;
        }
        match verdict.source {
            Source::Store => self.inner.keep_warm(self.now, limited, self.whose(at), units),
            // Whatever is taken ahead is charged when it is taken.
            Source::Grant => self.inner.keep_prefilter_warm(self.now, limited, self.whose(at), units),
            Source::Fallback => self.inner.arrears.owe(self.now, part.identity, limited.handle(), &part.key, units),
            Source::DenyCache | Source::Prefilter | Source::Mode | Source::Rule => {}
        }
    }
}

impl Drop for Tab<'_> {
    /// The caller was cancelled: nothing was admitted.
    fn drop(&mut self) {
        self.give_back_unattended();
    }
}

/// The parts of those winners that are asked.
fn parts_of<'w>(
    inner: &Inner,
    winners: impl ExactSizeIterator<Item = Winner<'w>>,
    call: &Call<'_>,
    groups: &GroupFilter,
) -> Vec<Part> {
    let mut parts = Vec::with_capacity(winners.len());
    let asked = winners.filter(|winner| groups.admits(winner.rule.group()));
    parts.extend(asked.map(|winner| Part::new(inner, winner, call)));
    parts
}
