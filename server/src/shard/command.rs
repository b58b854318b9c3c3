//! One operation on one key, as a shard decides it, whichever door it came through.

use std::sync::Arc;

use tallyring_engine::{Ask, Identity, Invalid, Limit, RuleRef, Timestamp};
use tallyring_protocol::{Define, Key, Placement};

use super::Seeds;
use super::outlet::Outlet;
use crate::limits::limit_from;

/// What is asked of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Decide, and charge if allowed.
    Check(Ask),
    /// Grant up to `cost` units, leaving `keep`.
    Take {
        /// Units wanted.
        cost: u64,
        /// Units that must remain.
        keep: u64,
    },
    /// Give units back.
    Refund {
        /// Units to give back.
        cost: u64,
        /// When they were charged, if known.
        charged_at: Option<Timestamp>,
    },
}

/// The numbers of a limit and the rule that they are from: what a handle stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Definition {
    /// The rule's id; empty = none.
    pub rule: Box<str>,
    /// Whether the rule is not enforced.
    pub shadow: bool,
    /// Keys that the rule may hold on a shard.
    pub keys_max: u64,
    /// The numbers.
    pub limit: Limit,
}

impl Definition {
    /// Validates what a client defined.
    ///
    /// # Errors
    /// [`Invalid`] names the first number that is out of its range.
    pub fn from_wire(define: &Define<'_>, quota: KeyQuota) -> Result<Definition, Invalid> {
        let limit = limit_from(define.algorithm, define.limit, define.period, define.burst)?;
        Ok(Definition { rule: define.rule.into(), shadow: define.shadow, keys_max: quota.of(define.keys_max), limit })
    }

    /// Numbers that came with a command and belong to no rule.
    pub fn unnamed(limit: Limit, quota: KeyQuota) -> Definition {
        Definition { rule: "".into(), shadow: false, keys_max: quota.any_rule_max, limit }
    }

    /// What the engine is to count and bound the limit under.
    pub fn rule(&self) -> RuleRef<'_> {
        RuleRef { name: &self.rule, shadow: self.shadow, keys_max: Some(self.keys_max) }
    }
}

/// How many keys of a rule a shard holds.
#[derive(Clone, Copy, Debug)]
pub struct KeyQuota {
    /// Shards of the node, over which the keys of a rule are spread evenly.
    pub shards: u16,
    /// Keys of any one rule, unless it says how many.
    pub any_rule_max: u64,
}

impl KeyQuota {
    /// A shard's share of what a rule may hold on the node, rounded up; 0 = as many as any rule.
    pub fn of(self, keys_max: u64) -> u64 {
        if keys_max == 0 { self.any_rule_max } else { keys_max.div_ceil(u64::from(self.shards)) }
    }

    /// What a rule may hold on the node if a shard's share is this: 0 = as many as any rule. Nodes differ in shards and in
    /// memory, so it is this that they tell each other.
    pub fn on_node(self, share: u64) -> u64 {
        if share == self.any_rule_max { 0 } else { share.saturating_mul(u64::from(self.shards)) }
    }
}

/// A command for another shard, with the way back.
#[derive(Debug)]
pub struct Envelope {
    /// What to do.
    pub errand: Errand,
    /// The request's id on its connection.
    pub id: u32,
    /// The connection that waits.
    pub reply_to: Arc<Outlet>,
}

/// What an [`Envelope`] asks for.
#[derive(Debug)]
pub enum Errand {
    /// An operation on a key, copied out of its frame, under a limit.
    Decide(Key, Arc<Definition>, Op),
    /// Several checks as one.
    CheckAll(Box<[ForeignPart]>),
    /// A charge that can be corrected.
    Reserve(Arc<Definition>, Box<Booking>),
    /// Its correction.
    Settle {
        /// The name of the reservation.
        reservation: Identity,
        /// Units that were used.
        actual: u64,
    },
    /// Hold slots.
    Acquire(Box<Claim>),
    /// Let go of them.
    Release(Holder),
    /// Forget a key under every algorithm.
    Reset(Key),
    /// Say what is left of a key's budgets that are not whole.
    Peek(Key),
}

impl Errand {
    /// Where the keys live that it is about.
    pub fn places(&self, seeds: &Seeds) -> impl Iterator<Item = Placement> {
        let (place, parts): (_, &[ForeignPart]) = match self {
            Errand::Decide(key, ..) | Errand::Reset(key) | Errand::Peek(key) => {
                (Some(seeds.placement.place(key.as_ref()).0), &[])
            }
            Errand::CheckAll(parts) => (None, parts),
            Errand::Reserve(_, booking) => (Some(booking.counter.placement), &[]),
            Errand::Settle { reservation, .. } => (Some(reservation.placement), &[]),
            Errand::Acquire(claim) => (Some(claim.holder.slots.placement), &[]),
            Errand::Release(holder) => (Some(holder.slots.placement), &[]),
        };
        place.into_iter().chain(parts.iter().map(|part| part.identity.placement)).map(Placement)
    }

    /// The reservation that it makes, if it makes one.
    pub fn reservation(&self) -> Option<Identity> {
        match self {
            Errand::Reserve(_, booking) => Some(booking.reservation),
            _ => None,
        }
    }
}

/// One of several checks that are decided together, with its numbers.
#[derive(Clone, Debug)]
pub struct ForeignPart {
    /// The numbers.
    pub definition: Arc<Definition>,
    /// Whose budget.
    pub identity: Identity,
    /// What is asked of it.
    pub ask: Ask,
}

/// What a reserve asks for.
#[derive(Clone, Copy, Debug)]
pub struct Booking {
    /// Whose budget.
    pub counter: Identity,
    /// The name of the reservation, under the same placement.
    pub reservation: Identity,
    /// What is charged.
    pub ask: Ask,
    /// How long it can be corrected, in microseconds.
    pub ttl_us: u64,
}

/// Who holds slots, or wants to.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// The key's slots.
    pub slots: Identity,
    /// The hash of the holder's name.
    pub name: u64,
}

/// What an acquire asks for.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Who asks.
    pub holder: Holder,
    /// Units that may be held at the same time.
    pub limit: Limit,
    /// Units to hold.
    pub cost: u64,
    /// How long they are held, in microseconds.
    pub ttl_us: u64,
}
