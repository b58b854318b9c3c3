//! What the store is asked, in which order, and what its answers mean.

use std::time::Duration;

use smallvec::SmallVec;
use tallyring_engine::{Ask, UNITS_MAX};

use super::{Manner, Tab};
use crate::StoreDecision;
use crate::error::StoreError;
use crate::joint::Check;
use crate::limiter::slot::Slot;
use crate::limiter::verdict::{Spent, Verdict};
use crate::store::Store;

/// Indices of parts that are asked together.
type Batch = SmallVec<[usize; 4]>;

/// What they are asked.
type Asks = SmallVec<[Ask; 4]>;

impl Tab<'_> {
    /// Asks about all that is open.
    pub(super) async fn ask_store(&mut self) {
        let batch = if self.is_plain() { self.next_batch() } else { Batch::new() };
        if batch.len() == self.parts.len() {
            self.ask(None, &batch).await; // atomic by itself, and the whole deadline is left
        } else {
            self.ask_each_in_turn().await;
        }
    }

    /// Whether nothing but questions is to be asked.
    fn is_plain(&self) -> bool {
        self.manner == Manner::Check && (0..self.parts.len()).all(|at| self.limited(at).grants.is_none())
    }

    async fn ask_each_in_turn(&mut self) {
        if self.manner == Manner::Check {
            self.take_grants().await;
        }
        let mut batch = self.next_batch();
        while !batch.is_empty() {
            self.ask_in_turn(&batch).await;
            batch = self.next_batch();
        }
        while let Some(at) = self.next_slots() {
            self.acquire(at).await;
        }
    }

    /// Takes units ahead for what could not be paid, and pays it.
    async fn take_grants(&mut self) {
        for at in 0..self.parts.len() {
            if self.limited(at).grants.is_some() && self.parts[at].is_payable() {
                self.take_grant(at).await;
                self.spend_grant(at);
            }
        }
    }

    async fn take_grant(&mut self, at: usize) {
        let (part, limited) = (&self.parts[at], self.limited(at));
        let Some(grants) = &limited.grants else { return };
        if !grants.may_take(self.now, part.identity) {
            return;
        }
        let units = grants.units_for(part.ask.cost);
        let store = self.inner.store.until(self.deadline());
        let granted = store.take(limited.handle(), &part.key, units, 0).await.ok();
        let now = self.inner.now();
        let units = granted.as_ref().map_or(0, |grant| grant.granted);
        grants.taken(now, part.identity, granted);
        self.inner.keep_fallback_warm(now, limited, self.whose(at), units);
        self.now = now;
    }

    /// The first rules that are not decided and live together; none when all are.
    fn next_batch(&self) -> Batch {
        let mut open = self.open_units();
        let Some(first) = open.next() else { return Batch::new() };
        let (store, key) = (&self.inner.store, |at: usize| &self.parts[at].key);
        std::iter::once(first).chain(open.filter(|at| store.are_together(key(first), key(*at)))).collect()
    }

    /// Asks one batch of several. Once the call is denied, asks what would be, so that the longest wait is known.
    async fn ask_in_turn(&mut self, batch: &Batch) {
        let store = self.inner.store.until(self.deadline());
        if !self.is_denied() {
            return match self.manner {
                Manner::Check => self.ask(Some(&store), batch).await,
                Manner::Reserve(ttl) => self.reserve_each(&store, batch, ttl).await,
            };
        }
        let looks: Asks = batch.iter().map(|at| look(self.parts[*at].ask)).collect();
        let decisions = self.check(Some(&store), batch, &looks).await;
        self.now = self.inner.now();
        for (n, at) in batch.iter().enumerate() {
            // Without an answer this rule has nothing to add to the denial.
            let looked = decisions.as_ref().ok().map(|decisions| decisions[n]);
            let verdict =
                looked.map(|decision| Verdict::of_store(self.limited(*at).limit(), &decision, Spent::Nothing, 0));
            self.parts[*at].verdict = Some(verdict.unwrap_or_else(Verdict::unknown));
        }
    }

    /// Asks one batch; `until` is the store with what is left of the deadline, if some of it is used up.
    async fn ask(&mut self, until: Option<&Store>, batch: &Batch) {
        let asks: Asks = batch.iter().map(|at| self.parts[*at].ask).collect();
        let decided = self.check(until, batch, &asks).await;
        self.now = self.inner.now();
        match decided {
            Ok(decisions) => {
                self.inner.note_store();
                let is_charged = decisions.iter().all(|decision| decision.allowed);
                batch.iter().zip(&decisions).for_each(|(at, decision)| self.note_decision(*at, decision, is_charged));
            }
            Err(error) => {
                self.inner.note_alone(&error);
                batch.iter().for_each(|at| self.decide_alone(*at));
            }
        }
    }

    async fn check(
        &self,
        until: Option<&Store>,
        batch: &Batch,
        asks: &[Ask],
    ) -> Result<SmallVec<[StoreDecision; 2]>, StoreError> {
        let store = until.unwrap_or(&self.inner.store);
        let check = |(at, ask): (&usize, &Ask)| Check {
            limit: self.limited(*at).handle(),
            key: &self.parts[*at].key,
            ask: *ask,
        };
        let checks: SmallVec<[Check<'_>; 4]> = batch.iter().zip(asks).map(check).collect();
        match &checks[..] {
            [Check { limit, key, ask }] => Ok(SmallVec::from_iter([store.check(limit, key, *ask).await?])),
            several => Ok(store.check_all(several).await?.checks.into()),
        }
    }

    async fn reserve_each(&mut self, store: &Store, batch: &Batch, ttl: Duration) {
        for &at in batch {
            if self.is_denied() {
                return;
            }
            let (part, limited) = (&self.parts[at], self.limited(at));
            let reserved = store.reservation(limited.handle(), &part.key, part.ask, ttl).await;
            self.now = self.inner.now();
            match reserved {
                Ok(Ok(reservation)) => {
                    let (part, limited) = (&self.parts[at], self.limited(at));
                    let decision = *reservation.decision();
                    let (limit, units) = (limited.limit(), decision.charged.unwrap_or(part.ask.cost));
                    let verdict = Verdict::of_store(limit, &decision, Spent::Reserved(Box::new(reservation)), units);
                    self.parts[at].verdict = Some(verdict);
                }
                Ok(Err(denied)) => self.note_decision(at, &denied, false),
                Err(error) => {
                    self.inner.note_alone(&error);
                    self.decide_alone(at);
                }
            }
        }
    }

    fn note_decision(&mut self, at: usize, decision: &StoreDecision, is_charged: bool) {
        let (part, limited) = (&self.parts[at], self.limited(at));
        if !decision.allowed {
            self.inner.remember(self.now, limited, part, decision);
        }
        let units = if is_charged { decision.charged.unwrap_or(part.ask.cost) } else { 0 };
        let at_us = decision.at_us;
        let spent = if units > 0 { Spent::Store { units, at_us } } else { Spent::Nothing };
        self.parts[at].verdict = Some(Verdict::of_store(limited.limit(), decision, spent, units));
    }

    async fn acquire(&mut self, at: usize) {
        let store = self.inner.store.until(self.deadline());
        let part = &self.parts[at];
        let hold = self.limited(at).hold(part.ask.cost);
        match store.permit(&part.key, hold).await {
            Ok(Ok(permit)) => {
                let verdict = Verdict::of_slots(&hold, permit.slots());
                let slot = Slot::of_store(self.inner, self.whose(at), hold, permit);
                self.slots.push(slot);
                self.parts[at].verdict = Some(verdict);
            }
            Ok(Err(denied)) => self.parts[at].verdict = Some(Verdict::of_slots(&hold, &denied)),
            Err(error) => {
                self.inner.note_alone(&error);
                self.acquire_alone(at, &hold);
            }
        }
        self.now = self.inner.now();
    }
}

/// The same question without a charge: what would be left is asked for as what has to remain. What is forced needs none.
fn look(ask: Ask) -> Ask {
    let keep = if ask.force { 0 } else { ask.cost.saturating_add(ask.keep).min(UNITS_MAX) };
    Ask { cost: 0, keep, force: false }
}
