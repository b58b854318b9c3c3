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
//! Invariants:
//! - What a denied call was charged is on its way back before the answer is given.
//! - The whole takes no longer than one deadline of the store.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tallyring_engine::{Algorithm, Ask, Timestamp, UNITS_MAX};
use tallyring_protocol::Key;
use tallyring_protocol::rules::{Mode, Resolution, Winner};
use tokio::time::timeout_at;

use super::call::{Call, GroupFilter};
use super::slot::Slot;
use super::snapshot::{Limited, Snapshot};
use super::verdict::{Spent, Verdict};
use super::{Inner, shadow, undo};
use crate::StoreDecision;
use crate::decision::{Decision, RuleDecision, RuleRef, Source};
use crate::deny_cache::{Refusal, Refused};
use crate::error::StoreError;
use crate::fallback::Whose;
use crate::held::Held;
use crate::joint::Check;
use crate::permit::Hold;
use crate::reservation::Reservation;
use crate::store::Store;
use crate::sys::clock::{self, Instant};

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Tab {
    inner: Arc<Inner>,
    snapshot: Arc<Snapshot>,
    parts: Vec<Part>,
    shadows: Vec<Part>,
    manner: Manner,
    slots: Vec<Slot>,
    /// When the call was made.
    opened: Instant,
}

/// One rule's part in a call.
#[derive(Debug)]
pub(super) struct Part {
    /// The rule's place in the document.
    pub(super) order: usize,
    pub(super) key: Key,
    /// The key's keyed hash; 0 for a rule that blocks.
    pub(super) identity: u64,
    pub(super) ask: Ask,
    verdict: Option<Verdict>,
}

/// How units are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// For good.
    Check,
    /// On an estimate that can be corrected for so long.
    Reserve(Duration),
}

/// Indices of parts that are asked together.
type Batch = SmallVec<[usize; 4]>;

/// What they are asked.
type Asks = SmallVec<[Ask; 4]>;

impl Tab {
    /// Finds out which rules apply; nothing is asked yet, and the call is not needed any more.
    pub(crate) fn open(inner: &Arc<Inner>, call: &Call<'_>, groups: &GroupFilter, manner: Manner) -> Tab {
        let snapshot = inner.snapshot.load_full();
        let Resolution { enforced, shadow } = snapshot.rules.resolve(&call.subject);
        let admits = |winner: &Winner<'_>| groups.admits(winner.rule.group());
        let part = |winner: Winner<'_>| Part::new(inner, winner, call);
        let parts = enforced.into_iter().filter(admits).map(part).collect();
        let shadows = shadow.into_iter().filter(admits).map(part).collect();
        let (slots, opened) = (Vec::new(), clock::now());
        Tab { inner: Arc::clone(inner), parts, shadows, manner, slots, opened, snapshot }
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
        if !self.parts.is_empty() && !self.refuses_here() {
            // Boxed: a refusal from memory would otherwise be moved about with the state of every question.
            Box::pin(self.run_with_store()).await;
        }
    }

    async fn run_with_store(&mut self) {
        let batch = if self.is_plain() { self.next_batch() } else { Batch::new() };
        if batch.len() == self.parts.len() {
            self.ask(None, &batch).await; // atomic by itself, and the whole deadline is left
        } else {
            self.run_in_turn().await;
        }
        if self.is_denied() {
            self.give_back().await;
        }
    }

    /// Whether nothing but questions is to be asked.
    fn is_plain(&self) -> bool {
        self.manner == Manner::Check && (0..self.parts.len()).all(|at| self.limited(at).grants.is_none())
    }

    async fn run_in_turn(&mut self) {
        if self.manner == Manner::Check {
            self.spend_grants().await;
        }
        let mut batch = self.next_batch();
        while !batch.is_empty() {
            self.ask_in_turn(&batch).await;
            batch = self.next_batch();
        }
        while let Some(at) = self.next_slot() {
            self.acquire(at).await;
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

    /// Whether a rule blocks, or refuses without being asked.
    fn refuses_here(&mut self) -> bool {
        let now = self.inner.clock.at(self.opened);
        for at in 0..self.parts.len() {
            self.parts[at].verdict = self.refusal(at, now);
        }
        self.is_denied()
    }

    fn refusal(&self, at: usize, now: Timestamp) -> Option<Verdict> {
        let (part, limited) = (&self.parts[at], self.limited(at));
        if limited.blocks() {
            return Some(Verdict::blocked());
        }
        if limited.define(&self.inner.store).is_err() {
            return Some(Verdict::denied_by_mode(limited.limit().ceiling()));
        }
        if is_slot(limited) {
            return None;
        }
        let whose = Refused { identity: part.identity, version: limited.handle().version() };
        if let Some(refusal) = self.inner.deny.look_up(now, whose, part.ask) {
            return Some(Verdict::refused(limited.limit().ceiling(), part.ask, &refusal));
        }
        let own = limited.has_prefilter().then(|| self.inner.prefilter.refuses(now, self.whose(at), part.ask));
        own.flatten().as_ref().map(Verdict::prefiltered)
    }

    /// Pays out of grants what can be paid so, and takes more ahead for what cannot.
    async fn spend_grants(&mut self) {
        for at in 0..self.parts.len() {
            if self.limited(at).grants.is_some() && self.parts[at].is_payable() && !self.spend_grant(at) {
                self.take_grant(at).await;
                self.spend_grant(at);
            }
        }
    }

    fn spend_grant(&mut self, at: usize) -> bool {
        let (part, limited) = (&self.parts[at], self.limited(at));
        let now = self.inner.now();
        let spent = limited.grants.as_ref().and_then(|grants| grants.spend(now, part.identity, part.ask.cost));
        let verdict = spent.map(|spent| Verdict::granted(limited.limit().ceiling(), part.ask.cost, spent));
        self.parts[at].verdict = verdict;
        self.parts[at].verdict.is_some()
    }

    async fn take_grant(&self, at: usize) {
        let (part, limited) = (&self.parts[at], self.limited(at));
        let Some(grants) = &limited.grants else { return };
        if !grants.may_take(self.inner.now(), part.identity) {
            return;
        }
        let units = grants.units_for(part.ask.cost);
        let store = self.inner.store.until(self.deadline());
        let granted = store.take(limited.handle(), &part.key, units, 0).await;
        grants.taken(self.inner.now(), part.identity, granted.ok());
    }

    /// The first rules that are not decided and live together; none when all are. After a denial, those that no denial
    /// could come from are left out.
    fn next_batch(&self) -> Batch {
        let is_denied = self.is_denied();
        let is_open = |at: &usize| {
            let part = &self.parts[*at];
            part.verdict.is_none() && !is_slot(self.limited(*at)) && !(is_denied && part.ask.force)
        };
        let mut open = (0..self.parts.len()).filter(is_open);
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
        match self.check(until, batch, &asks).await {
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
            match reserved {
                Ok(Ok(reservation)) => {
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
            self.inner.remember(limited, part, decision);
        }
        let units = if is_charged { decision.charged.unwrap_or(part.ask.cost) } else { 0 };
        let at_us = decision.at_us;
        let spent = if units > 0 { Spent::Store { units, at_us } } else { Spent::Nothing };
        self.parts[at].verdict = Some(Verdict::of_store(limited.limit(), decision, spent, units));
    }

    /// Decides by the rule's mode: the store could not be asked.
    fn decide_alone(&mut self, at: usize) {
        let (part, limited) = (&self.parts[at], self.limited(at));
        let verdict = match limited.mode() {
            Mode::Deny => Verdict::denied_by_mode(limited.limit().ceiling()),
            Mode::Protect | Mode::Shadow => {
                let decision = self.inner.fallback.check(self.inner.now(), self.whose(at), part.ask);
                let units = decision.charged.unwrap_or(part.ask.cost);
                Verdict::of_fallback(&decision, if decision.allowed { units } else { 0 })
            }
        };
        self.parts[at].verdict = Some(verdict);
    }

    fn next_slot(&self) -> Option<usize> {
        if self.is_denied() {
            return None;
        }
        (0..self.parts.len()).find(|at| self.parts[*at].verdict.is_none() && is_slot(self.limited(*at)))
    }

    async fn acquire(&mut self, at: usize) {
        let store = self.inner.store.until(self.deadline());
        let (part, limited) = (&self.parts[at], self.limited(at));
        let hold = hold(limited, part.ask.cost);
        let (verdict, slot) = match store.permit(&part.key, hold).await {
            Ok(Ok(permit)) => {
                let slots = *permit.slots();
                let slot = Slot::of_store(&self.inner, self.whose(at), hold, permit);
                (Verdict::of_slots(&hold, &slots), Some(slot))
            }
            Ok(Err(denied)) => (Verdict::of_slots(&hold, &denied), None),
            Err(error) => {
                self.inner.note_alone(&error);
                self.acquire_alone(at, &hold)
            }
        };
        self.slots.extend(slot);
        self.parts[at].verdict = Some(verdict);
    }

    fn acquire_alone(&self, at: usize, hold: &Hold) -> (Verdict, Option<Slot>) {
        if self.limited(at).mode() == Mode::Deny {
            return (Verdict::denied_by_mode(hold.limit), None);
        }
        let (slots, slot) = Slot::alone(&self.inner, self.whose(at), *hold);
        (Verdict::of_local_slots(hold, &slots), slot)
    }

    /// Gives back what a denied call was charged. What the store has to be told is told by a task, so that it is said
    /// even if the caller goes away, and waited for until the deadline.
    async fn give_back(&mut self) {
        let words = self.take_back();
        if words.is_empty() {
            return;
        }
        let Some(told) = undo::tell(&self.inner, words) else { return };
        let Ok(Ok(left)) = timeout_at(self.deadline(), told).await else { return };
        for (at, decision) in left {
            if let Some(verdict) = &mut self.parts[at].verdict {
                verdict.left(&decision);
            }
        }
    }

    /// Takes back at once what was charged here; returns what the store has to be told.
    fn take_back(&mut self) -> Vec<undo::Word> {
        let mut words: Vec<undo::Word> = std::mem::take(&mut self.slots).into_iter().map(undo::Word::Release).collect();
        for at in 0..self.parts.len() {
            let Some(verdict) = &mut self.parts[at].verdict else { continue };
            let spent = verdict.take_spent();
            let (part, limited) = (&self.parts[at], self.limited(at));
            match spent {
                Spent::Nothing => {}
                Spent::Grant { units } => {
                    limited.grants.iter().for_each(|grants| grants.give_back(part.identity, units));
                }
                Spent::Local { units } => self.inner.fallback.refund(self.inner.now(), self.whose(at), units),
                Spent::Store { units, at_us } => {
                    words.push(undo::Word::refund(at, limited.handle(), part, units, at_us));
                }
                Spent::Reserved(reservation) => words.push(undo::Word::Settle(*reservation)),
            }
        }
        words
    }

    fn finish(mut self) -> Decision {
        let is_allowed = !self.is_denied();
        for at in 0..self.parts.len() {
            self.conclude(at, is_allowed);
        }
        let mut held = Held::new(std::mem::take(&mut self.slots));
        if is_allowed {
            shadow::ask(&self.inner, &self.snapshot, std::mem::take(&mut self.shadows), &mut held);
        }
        let parts = std::mem::take(&mut self.parts);
        let checks = parts.into_iter().filter_map(|part| part.into_decision(&self.snapshot)).collect();
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
        if !is_allowed {
            return;
        }
        match (verdict.source, verdict.units()) {
            (_, 0) => {}
            (Source::Store | Source::Grant, units) => self.inner.keep_warm(limited, self.whose(at), units),
            (Source::Fallback, units) => self.inner.owe(limited, &part.key, part.identity, units),
            (Source::DenyCache | Source::Prefilter | Source::Mode | Source::Rule, _) => {}
        }
    }
}

impl Drop for Tab {
    /// The caller was cancelled: nothing was admitted.
    fn drop(&mut self) {
        let words = self.take_back();
        if !words.is_empty() {
            drop(undo::tell(&self.inner, words));
        }
    }
}

impl Part {
    fn new(inner: &Inner, winner: Winner<'_>, call: &Call<'_>) -> Part {
        let Winner { rule, key } = winner;
        let priority = rule.priority(call.priority);
        let ask = Ask { cost: call.cost.min(UNITS_MAX), keep: priority.keep, force: priority.force };
        let algorithm = rule.numbers().map(|numbers| numbers.algorithm);
        let identity = algorithm.map_or(0, |algorithm| inner.hasher.identity(key.as_ref(), algorithm));
        Part { order: rule.order(), key, identity, ask, verdict: None }
    }

    /// Whether a grant can pay for it: nothing has to remain, and there is something to pay.
    fn is_payable(&self) -> bool {
        self.verdict.is_none() && self.ask.keep == 0 && !self.ask.force && self.ask.cost > 0
    }

    fn into_decision(self, snapshot: &Arc<Snapshot>) -> Option<RuleDecision> {
        let Part { order, key, identity, verdict, .. } = self;
        let verdict = verdict.filter(|verdict| verdict.is_known)?;
        Some(verdict.into_decision(RuleRef::new(snapshot, order), key, identity))
    }
}

/// Whether a rule limits how much goes on at the same time.
pub(super) fn is_slot(limited: &Limited) -> bool {
    limited.limit().algorithm() == Algorithm::Concurrency
}

/// What a rule that limits concurrency lets be held.
pub(super) fn hold(limited: &Limited, cost: u64) -> Hold {
    let limit = limited.limit();
    let ttl = Duration::from_micros(crate::fallback::period_us(limit.period()));
    Hold { limit: limit.limit(), cost: cost.max(1), ttl }
}

/// The same question without a charge: what would be left is asked for as what has to remain.
fn look(ask: Ask) -> Ask {
    Ask { cost: 0, keep: ask.cost.saturating_add(ask.keep).min(UNITS_MAX), force: false }
}

impl Inner {
    /// Keeps a refusal of the store.
    pub(super) fn remember(&self, limited: &Limited, part: &Part, decision: &StoreDecision) {
        let whose = Refused { identity: part.identity, version: limited.handle().version() };
        let refusal = Refusal {
            retry_after_us: (!decision.never()).then_some(decision.retry_after_us),
            reset_after_us: decision.reset_after_us,
            remaining: decision.remaining,
        };
        self.deny.keep(self.now(), whose, part.ask, &refusal);
    }
}
