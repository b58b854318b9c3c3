//! A command meets the engine: the only place where an operation becomes a reply.

use tallyring_engine::{
    Decision, Engine, Grant, Identity, Joint, LimitId, Released, Settled, Slots, Timestamp, Wait, saturating_us,
};
use tallyring_protocol::bounds::WAIT_NEVER_US;
use tallyring_protocol::reply::{CheckedAll, Decisions};
use tallyring_protocol::{Reply, reply};

use super::command::Op;

/// Decides `op` and words the answer.
#[inline]
pub(super) fn apply(engine: &mut Engine, now: Timestamp, identity: Identity, limit: LimitId, op: Op) -> Reply<'static> {
    let decided = match op {
        Op::Check(ask) => engine.check(now, identity, limit, ask).map(|decision| decision_reply(decision, now)),
        Op::Take { cost, keep } => engine.take(now, identity, limit, cost, keep).map(|grant| grant_reply(grant, now)),
        Op::Refund { cost, charged_at } => {
            Ok(decision_reply(engine.refund(now, identity, limit, cost, charged_at), now))
        }
    };
    decided.unwrap_or(Reply::Full)
}

#[inline]
pub(super) fn decision_reply(decision: Decision, now: Timestamp) -> Reply<'static> {
    Reply::Decision(worded(&decision, now))
}

#[inline]
fn worded(decision: &Decision, now: Timestamp) -> reply::Decision {
    reply::Decision {
        allowed: decision.allowed,
        remaining: decision.remaining,
        retry_after_us: wait_us(decision.retry_after),
        reset_after_us: saturating_us(decision.reset_after_us),
        at_us: now.as_micros(),
        charged: decision.charged,
        delay_us: decision.delay_us.map(saturating_us),
    }
}

#[inline]
fn wait_us(wait: Wait) -> u64 {
    wait.saturating_us().unwrap_or(WAIT_NEVER_US)
}

pub(super) fn joint_reply(joint: Joint, decisions: &[Decision], now: Timestamp) -> Reply<'static> {
    Reply::CheckedAll(CheckedAll {
        allowed: joint.allowed,
        retry_after_us: wait_us(joint.retry_after),
        at_us: now.as_micros(),
        checks: Decisions::new(decisions.iter().map(|decision| worded(decision, now))),
    })
}

pub(super) fn settled_reply(settled: Option<Settled>) -> Reply<'static> {
    Reply::Settled(settled.map(|Settled { remaining, reset_after_us }| reply::Settled {
        remaining,
        reset_after_us: saturating_us(reset_after_us),
    }))
}

pub(super) fn slots_reply(slots: Slots, now: Timestamp) -> Reply<'static> {
    let Slots { allowed, limit: _, in_use, retry_after } = slots;
    Reply::Slots(reply::Slots { allowed, in_use, retry_after_us: wait_us(retry_after), at_us: now.as_micros() })
}

pub(super) fn released_reply(released: Released) -> Reply<'static> {
    let Released { released, in_use } = released;
    Reply::Released(reply::Released { released, in_use })
}

fn grant_reply(grant: Grant, now: Timestamp) -> Reply<'static> {
    Reply::Grant(reply::Grant {
        granted: grant.granted,
        remaining: grant.remaining,
        reset_after_us: saturating_us(grant.reset_after_us),
        at_us: now.as_micros(),
    })
}
