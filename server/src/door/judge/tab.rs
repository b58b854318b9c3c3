//! A tab: one request while it is decided, rule after rule, all or nothing.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tallyring_engine::{Algorithm, Ask, PERIOD_US_MAX, Period, Stock, Timestamp, UNITS_MAX};
use tallyring_protocol::reply::{self, Released, Settled};
use tallyring_protocol::rules::{Resolution, Subject, Winner};
use tallyring_protocol::{Key, Reply};

use super::bench::Bench;
use super::decision::Decision;
use super::verdict::{Spent, Verdict};
use super::{Booking, Charge, Judge, Manner};
use crate::door::shards::{Refusal, Seat, Shards};
use crate::limits::code_of;
use crate::shard::command::{self, Claim, Definition, Errand, ForeignPart, Holder, Op};

/// How often a full mailbox is asked to take back a charge.
const UNDO_TRIES_MAX: usize = 100;

/// How long it is left alone in between.
const UNDO_INTERVAL: Duration = Duration::from_millis(1);

/// See the module's text.
#[derive(Debug)]
pub(super) struct Tab {
    shards: Arc<Shards>,
    bench: Arc<Bench>,
    parts: SmallVec<[Part; 2]>,
    shadows: SmallVec<[Part; 1]>,
    manner: Manner,
    /// The name that slots are held under.
    holder: Box<[u8]>,
}

/// One rule's part in a request.
#[derive(Debug)]
pub(super) struct Part {
    /// Its place in the document.
    pub(super) order: usize,
    /// What it counts the request under.
    pub(super) key: Key,
    /// Who decides about that key.
    pub(super) seat: Seat,
    /// What it does.
    pub(super) kind: Kind,
    ask: Ask,
    verdict: Option<Verdict>,
}

/// What a rule does with a request.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Blocks,
    Budget(Arc<Definition>),
    Slots(Arc<Definition>),
}

/// Places of parts that are asked together.
type Batch = SmallVec<[usize; 4]>;

/// What each of them decided.
type Decisions = SmallVec<[reply::Decision; 2]>;

impl Tab {
    /// Finds out which rules apply; nothing is asked yet.
    pub(super) fn open(judge: &Judge, subject: &Subject<'_>, charge: &Charge<'_>) -> Tab {
        let bench = judge.bench();
        let Resolution { enforced, shadow } = bench.live().set.resolve(subject);
        let part = |winner: Winner<'_>| Part::new(&judge.shards, &bench, winner, charge);
        let parts: SmallVec<[Part; 2]> = enforced.into_iter().map(part).collect();
        let shadows: SmallVec<[Part; 1]> = shadow.into_iter().map(part).collect();
        let holds = parts.iter().chain(&shadows).any(Part::is_slots);
        let holder = match &charge.manner {
            Manner::Reserve(booking) => booking.id.clone(),
            Manner::Check if holds => judge.holder(),
            Manner::Check => Box::default(),
        };
        let (shards, manner) = (Arc::clone(&judge.shards), charge.manner.clone());
        Tab { shards, parts, shadows, manner, holder, bench }
    }

    /// Whether one shard decides all of it at once, so that nothing has ever to be given back.
    pub(super) fn is_atomic(&self) -> bool {
        let [first, others @ ..] = &self.parts[..] else { return true };
        let is_one_batch = |part: &Part| part.seat == first.seat && !part.is_slots() && self.manner == Manner::Check;
        others.is_empty() || (!first.is_slots() && others.iter().all(is_one_batch))
    }

    /// Decides.
    pub(super) async fn decide(mut self) -> Result<Decision, Refusal> {
        if !self.is_blocked() {
            let asked = self.ask_all().await;
            if asked.is_err() || self.is_denied() {
                self.give_back().await;
            }
            asked?;
        }
        Ok(self.finish())
    }

    /// Whether a rule refuses whatever it is for.
    fn is_blocked(&mut self) -> bool {
        for part in self.parts.iter_mut().filter(|part| matches!(part.kind, Kind::Blocks)) {
            part.verdict = Some(Verdict::BLOCKED);
        }
        self.is_denied()
    }

    fn is_denied(&self) -> bool {
        self.parts.iter().any(|part| part.verdict.is_some_and(|verdict| !verdict.allowed))
    }

    async fn ask_all(&mut self) -> Result<(), Refusal> {
        let mut batch = self.next_batch();
        while !batch.is_empty() {
            self.ask_batch(&batch).await?;
            batch = self.next_batch();
        }
        while let Some(at) = self.next_slots() {
            let verdict = self.acquire(&self.parts[at]).await?;
            self.parts[at].verdict = Some(verdict);
        }
        Ok(())
    }

    /// The first budgets that are not decided and live together; none when all are.
    fn next_batch(&self) -> Batch {
        let is_open = |at: &usize| self.parts[*at].verdict.is_none() && !self.parts[*at].is_slots();
        let mut open = (0..self.parts.len()).filter(is_open);
        let Some(first) = open.next() else { return Batch::new() };
        let seat = self.parts[first].seat;
        std::iter::once(first).chain(open.filter(|at| self.parts[*at].seat == seat)).collect()
    }

    /// The first slots that are not decided.
    fn next_slots(&self) -> Option<usize> {
        let mut undecided = (0..self.parts.len()).filter(|at| self.parts[*at].verdict.is_none());
        undecided.find(|at| self.parts[*at].is_slots())
    }

    async fn ask_batch(&mut self, batch: &Batch) -> Result<(), Refusal> {
        match &self.manner {
            // Denied already: what would be, so that the longest wait is known.
            _ if self.is_denied() => self.check(batch, look).await,
            Manner::Check => self.check(batch, |ask| ask).await,
            Manner::Reserve(booking) => self.reserve(batch, booking.clone()).await,
        }
    }

    /// Asks parts of one shard together.
    async fn check(&mut self, batch: &Batch, ask: impl Fn(Ask) -> Ask + Send) -> Result<(), Refusal> {
        let asks: SmallVec<[Ask; 4]> = batch.iter().map(|at| ask(self.parts[*at].ask)).collect();
        let decisions = self.decisions(batch, &asks).await?;
        let is_charged = decisions.iter().all(|decision| decision.allowed);
        for ((at, ask), decision) in batch.iter().zip(asks).zip(decisions) {
            let units = if is_charged { decision.charged.unwrap_or(ask.cost) } else { 0 };
            let at_us = decision.at_us;
            let spent = if units > 0 { Spent::Charged { units, at_us } } else { Spent::Nothing };
            self.parts[*at].decided(&decision, spent);
        }
        Ok(())
    }

    async fn decisions(&self, batch: &Batch, asks: &[Ask]) -> Result<Decisions, Refusal> {
        let seat = self.parts[batch[0]].seat;
        let answer = match (&batch[..], asks) {
            ([at], [ask]) => self.shards.ask(seat, self.parts[*at].check(*ask)).await?,
            _ => {
                let parts = batch.iter().zip(asks).map(|(at, ask)| self.parts[*at].foreign(&self.shards, *ask));
                self.shards.ask(seat, Errand::CheckAll(parts.collect())).await?
            }
        };
        match answer {
            Reply::Decision(decision) => Ok(Decisions::from_iter([decision])),
            Reply::CheckedAll(checked) => Ok(checked.decisions().collect()),
            _ => Err(Refusal::Unavailable),
        }
    }

    /// Reserves one after the other, up to the first that denies.
    async fn reserve(&mut self, batch: &Batch, booking: Booking) -> Result<(), Refusal> {
        for &at in batch {
            let part = &self.parts[at];
            let answer = self.shards.ask_ceiling(part.seat, part.book(&self.shards, &booking)).await?;
            let (Reply::Decision(decision), ceiling) = answer else { return Err(Refusal::Unavailable) };
            let spent = if decision.allowed { Spent::Reserved } else { Spent::Nothing };
            let ceiling = ceiling.unwrap_or_else(|| part.ceiling());
            self.parts[at].verdict = Some(Verdict::of_budget(ceiling, &decision, spent));
            if !decision.allowed {
                break;
            }
        }
        Ok(())
    }

    async fn acquire(&self, part: &Part) -> Result<Verdict, Refusal> {
        let Some(claim) = part.claim(&self.shards, &self.holder) else { return Ok(Verdict::BLOCKED) };
        let (limit, ttl) = (claim.limit.limit(), Duration::from_micros(claim.ttl_us));
        if part.ask.cost == 0 || self.is_denied() {
            return self.look_at_slots(part, limit).await;
        }
        match self.shards.ask(part.seat, Errand::Acquire(Box::new(claim))).await? {
            Reply::Slots(slots) => Ok(Verdict::of_slots(limit, ttl, &slots)),
            _ => Err(Refusal::Unavailable),
        }
    }

    async fn look_at_slots(&self, part: &Part, limit: u64) -> Result<Verdict, Refusal> {
        let stocks = self.shards.peek(part.key.clone()).await?;
        let slots = stocks.into_iter().find(|stock| stock.limit.algorithm() == Algorithm::Concurrency);
        let Some(Stock { limit: held_under, remaining, reset_after_us }) = slots else {
            return Ok(Verdict::of_look(limit, limit, Duration::ZERO));
        };
        let in_use = held_under.limit().saturating_sub(remaining);
        let reset_after = Duration::from_micros(tallyring_engine::saturating_us(reset_after_us));
        Ok(Verdict::of_look(limit, limit.saturating_sub(in_use), reset_after))
    }

    /// Gives back what a request that does not go on was charged.
    async fn give_back(&mut self) {
        for at in 0..self.parts.len() {
            let part = &self.parts[at];
            let Some(spent) = part.verdict.map(|verdict| verdict.spent) else { continue };
            let undo = || part.undo(spent, &self.shards, &self.holder);
            let left = match self.insist(&part.key, undo).await {
                Some(Reply::Decision(decision)) => Some((decision.remaining, decision.reset_after_us)),
                Some(Reply::Settled(Some(Settled { remaining, reset_after_us }))) => Some((remaining, reset_after_us)),
                Some(Reply::Released(Released { in_use, .. })) => Some((part.ceiling().saturating_sub(in_use), 0)),
                _ => None,
            };
            if let (Some((remaining, reset_after_us)), Some(verdict)) = (left, &mut self.parts[at].verdict) {
                verdict.undone(remaining, reset_after_us);
            }
        }
    }

    /// Has a shard do something even if its mailbox is full now, or the key is moving.
    async fn insist(&self, key: &Key, errand: impl Fn() -> Option<Errand> + Send) -> Option<Reply<'static>> {
        for _ in 0..UNDO_TRIES_MAX {
            // Whoever owns the key by now has its count, too.
            match self.shards.ask(self.shards.of(key.as_ref()), errand()?).await {
                Err(Refusal::Overloaded | Refusal::Moving) => tokio::time::sleep(UNDO_INTERVAL).await,
                answer => return answer.ok(),
            }
        }
        tracing::warn!(
            "a denied request's charge could not be given back: its shard stays overloaded, or its key moves"
        );
        None
    }

    fn finish(self) -> Decision {
        let verdicts = self.parts.iter().filter_map(|part| Some((part.order, part.verdict?)));
        let decision = Decision::new(Arc::clone(&self.bench), verdicts);
        if decision.allowed {
            self.tell_shadows();
        }
        decision
    }

    /// Has rules that are not enforced count an admitted request. One whose shard is busy misses it.
    fn tell_shadows(&self) {
        for part in self.shadows.iter().filter(|part| part.ask.cost > 0) {
            let errand = match (&part.kind, &self.manner) {
                (Kind::Blocks, _) => continue, // there is nothing to count
                (Kind::Slots(_), _) => {
                    part.claim(&self.shards, &self.holder).map(|claim| Errand::Acquire(Box::new(claim)))
                }
                (Kind::Budget(_), Manner::Check) => Some(part.check(part.ask)),
                (Kind::Budget(_), Manner::Reserve(booking)) => Some(part.book(&self.shards, booking)),
            };
            let told = errand.map(|errand| self.shards.tell(part.seat, errand));
            if let Some(Err(refusal)) = told {
                tracing::debug!(%refusal, "a rule in shadow was not told");
            }
        }
    }
}

impl Part {
    fn new(shards: &Shards, bench: &Bench, winner: Winner<'_>, charge: &Charge<'_>) -> Part {
        let Winner { rule, key } = winner;
        let priority = rule.priority(charge.priority);
        let ask = Ask { cost: charge.cost, keep: priority.keep, force: priority.force };
        let kind = Kind::of(bench.definition(rule.order()));
        Part { order: rule.order(), seat: shards.of(key.as_ref()), key, kind, ask, verdict: None }
    }

    fn is_slots(&self) -> bool {
        matches!(self.kind, Kind::Slots(_))
    }

    /// The numbers that it is asked under.
    ///
    /// # Panics
    /// For a rule that blocks: nobody asks it.
    fn definition(&self) -> &Arc<Definition> {
        match &self.kind {
            Kind::Budget(definition) | Kind::Slots(definition) => definition,
            Kind::Blocks => unreachable!("a rule that blocks has decided before anybody is asked"),
        }
    }

    fn ceiling(&self) -> u64 {
        self.definition().limit.ceiling()
    }

    fn decided(&mut self, decision: &reply::Decision, spent: Spent) {
        self.verdict = Some(Verdict::of_budget(self.ceiling(), decision, spent));
    }

    fn check(&self, ask: Ask) -> Errand {
        Errand::Decide(self.key.clone(), Arc::clone(self.definition()), Op::Check(ask))
    }

    fn foreign(&self, shards: &Shards, ask: Ask) -> ForeignPart {
        let definition = Arc::clone(self.definition());
        let identity = shards.seeds().identify(self.key.as_ref(), code_of(definition.limit.algorithm()));
        ForeignPart { definition, identity, ask }
    }

    fn book(&self, shards: &Shards, booking: &Booking) -> Errand {
        let definition = Arc::clone(self.definition());
        let (seeds, key) = (shards.seeds(), self.key.as_ref());
        let counter = seeds.identify(key, code_of(definition.limit.algorithm()));
        let reservation = seeds.reservation(key, &booking.id);
        let booking = command::Booking { counter, reservation, ask: self.ask, ttl_us: booking.ttl_us };
        Errand::Reserve(definition, Box::new(booking))
    }

    /// The slots that it wants; `None` for a rule that counts otherwise.
    fn claim(&self, shards: &Shards, holder: &[u8]) -> Option<Claim> {
        let Kind::Slots(definition) = &self.kind else { return None };
        let ttl_us = match definition.limit.period() {
            Period::Micros(us) => us,
            Period::Calendar(_) => PERIOD_US_MAX,
        };
        let holder: Holder = shards.seeds().holder(self.key.as_ref(), holder);
        Some(Claim { holder, limit: definition.limit, cost: self.ask.cost, ttl_us })
    }

    /// What undoes its charge, if there is one.
    fn undo(&self, spent: Spent, shards: &Shards, name: &[u8]) -> Option<Errand> {
        match spent {
            Spent::Nothing => None,
            Spent::Charged { units, at_us } => {
                let refund = Op::Refund { cost: units, charged_at: Some(Timestamp::from_micros(at_us)) };
                Some(Errand::Decide(self.key.clone(), Arc::clone(self.definition()), refund))
            }
            Spent::Reserved => {
                let reservation = shards.seeds().reservation(self.key.as_ref(), name);
                Some(Errand::Settle { reservation, actual: 0 })
            }
            Spent::Held => Some(Errand::Release(shards.seeds().holder(self.key.as_ref(), name))),
        }
    }
}

impl Kind {
    /// What a rule of that definition does.
    pub(super) fn of(definition: Option<&Arc<Definition>>) -> Kind {
        match definition {
            None => Kind::Blocks, // a rule that allows never comes so far
            Some(slots) if slots.limit.algorithm() == Algorithm::Concurrency => Kind::Slots(Arc::clone(slots)),
            Some(budget) => Kind::Budget(Arc::clone(budget)),
        }
    }
}

/// The same question without a charge: what would be left is asked for as what has to remain. What is forced needs none.
fn look(ask: Ask) -> Ask {
    let keep = if ask.force { 0 } else { ask.cost.saturating_add(ask.keep).min(UNITS_MAX) };
    Ask { cost: 0, keep, force: false }
}
