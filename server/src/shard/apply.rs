//! A command meets the engine: the only place where an operation becomes a reply.

use tallyring_engine::{Decision, Engine, Grant, Identity, LimitId, Timestamp, saturating_us};
use tallyring_protocol::bounds::WAIT_NEVER_US;
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

fn decision_reply(decision: Decision, now: Timestamp) -> Reply<'static> {
    Reply::Decision(reply::Decision {
        allowed: decision.allowed,
        remaining: decision.remaining,
        retry_after_us: decision.retry_after.saturating_us().unwrap_or(WAIT_NEVER_US),
        reset_after_us: saturating_us(decision.reset_after_us),
        at_us: now.as_micros(),
        charged: decision.charged,
        delay_us: decision.delay_us.map(saturating_us),
    })
}

fn grant_reply(grant: Grant, now: Timestamp) -> Reply<'static> {
    Reply::Grant(reply::Grant {
        granted: grant.granted,
        remaining: grant.remaining,
        reset_after_us: saturating_us(grant.reset_after_us),
        at_us: now.as_micros(),
    })
}
