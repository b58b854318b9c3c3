//! Settling: every reservation that a request made, corrected to what was used.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tallyring_protocol::Reply;
use tallyring_protocol::reply::{Released, Settled};
use tallyring_protocol::rules::{Resolution, Subject, Winner};

use super::Judge;
use super::bench::Bench;
use super::tab::Kind;
use crate::door::shards::{Refusal, Seat, Shards};
use crate::shard::command::Errand;

/// What became of a request's reservations.
#[derive(Debug)]
pub struct Settlement {
    /// Every enforced rule that applies to the request now and reserves, in the order of the document.
    pub rules: Vec<SettledRule>,
    /// The rules that were in force.
    pub bench: Arc<Bench>,
}

/// What became of one rule's reservation.
#[derive(Clone, Copy, Debug)]
pub struct SettledRule {
    /// Its place in the document.
    pub order: usize,
    /// What is left of its budget now; `None` if there was nothing to settle: no such reservation, or it was settled, or
    /// it has expired.
    pub left: Option<Left>,
}

/// What is left of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Whole units.
    pub remaining: u64,
    /// The smallest wait after which the whole budget is free again; `None` if nobody can say: of slots.
    pub reset_after: Option<Duration>,
}

/// A reservation to be corrected.
struct Open {
    order: usize,
    seat: Seat,
    /// Slots of the rule, for one that limits how much goes on at the same time.
    slots: Option<u64>,
    errand: Errand,
}

pub(super) async fn settle(
    judge: &Judge,
    subject: &Subject<'_>,
    id: &[u8],
    actual: u64,
) -> Result<Settlement, Refusal> {
    let bench = judge.bench();
    let Resolution { enforced, shadow } = bench.live().set.resolve(subject);
    let open = |winner| open(&judge.shards, &bench, winner, id, actual);
    for Open { seat, errand, .. } in shadow.into_iter().filter_map(open) {
        // Nobody's answer depends on a rule in shadow; one whose shard is busy keeps its estimate.
        let _ = judge.shards.tell(seat, errand);
    }
    let opens: SmallVec<[Open; 2]> = enforced.into_iter().filter_map(open).collect();
    // In a task of its own: if the caller goes away half-way, the rest is settled all the same.
    let settled = tokio::spawn(settle_each(Arc::clone(&judge.shards), opens)).await;
    let rules = settled.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?;
    Ok(Settlement { rules, bench })
}

fn open(shards: &Shards, bench: &Bench, winner: Winner<'_>, id: &[u8], actual: u64) -> Option<Open> {
    let Winner { rule, key } = winner;
    let (seeds, key) = (shards.seeds(), key.as_ref());
    let (slots, errand) = match Kind::of(bench.definition(rule.order())) {
        Kind::Blocks => return None,
        Kind::Budget(_) => (None, Errand::Settle { reservation: seeds.reservation(key, id), actual }),
        Kind::Slots(definition) => (Some(definition.limit.limit()), Errand::Release(seeds.holder(key, id))),
    };
    Some(Open { order: rule.order(), seat: shards.of(key), slots, errand })
}

async fn settle_each(shards: Arc<Shards>, opens: SmallVec<[Open; 2]>) -> Result<Vec<SettledRule>, Refusal> {
    let mut settled = Vec::with_capacity(opens.len());
    let mut outcome = Ok(());
    for Open { order, seat, slots, errand } in opens {
        match shards.ask(seat, errand).await {
            Ok(reply) => settled.push(SettledRule { order, left: left(&reply, slots) }),
            // The others are settled all the same; whoever is told tries again, and settles what is left.
            Err(refusal) => outcome = outcome.and(Err(refusal)),
        }
    }
    outcome.map(|()| settled)
}

fn left(reply: &Reply<'_>, slots: Option<u64>) -> Option<Left> {
    match *reply {
        Reply::Settled(Some(Settled { remaining, reset_after_us })) => {
            Some(Left { remaining, reset_after: Some(Duration::from_micros(reset_after_us)) })
        }
        Reply::Released(Released { released: true, in_use }) => {
            Some(Left { remaining: slots.unwrap_or(in_use).saturating_sub(in_use), reset_after: None })
        }
        _ => None,
    }
}
