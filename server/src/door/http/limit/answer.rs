//! A shard's answer in the words of a trace. Waits are cut to 2^63 - 1 microseconds, as on the wire.

use serde::Serialize;
use smallvec::SmallVec;
use tallyring_protocol::Reply;
use tallyring_protocol::bounds::WAIT_NEVER_US;
use tallyring_protocol::reply::{self, CheckedAll, Grant, Released, Slots};

/// The ceiling of each limit that was asked about.
pub(super) type Limits = SmallVec<[u64; 2]>;

/// The answer to an event.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    Decision(Decision),
    CheckedAll { allowed: bool, retry_after_us: Option<u64>, checks: Vec<Decision> },
    Grant { granted: u64, remaining: u64, reset_after_us: u64 },
    Settled { settled: bool, remaining: u64, reset_after_us: u64 },
    NotSettled { settled: bool },
    Slots { allowed: bool, limit: u64, in_use: u64, retry_after_us: Option<u64> },
    Released { released: bool, in_use: u64 },
}

/// A decision on one budget.
#[derive(Serialize)]
pub(super) struct Decision {
    allowed: bool,
    limit: u64,
    remaining: u64,
    retry_after_us: Option<u64>,
    reset_after_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    charged: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_us: Option<u64>,
}

impl Answer {
    /// What a reply says, and the instant that it says it of; `None` if it is no answer to an event.
    pub(super) fn of(reply: &Reply<'_>, limits: &Limits) -> Option<(Answer, Option<u64>)> {
        let limit = limits.first().copied().unwrap_or(0);
        Some(match reply {
            Reply::Decision(found) => (Answer::Decision(Decision::of(found, limit)), Some(found.at_us)),
            Reply::CheckedAll(checked) => (checked_all(checked, limits), Some(checked.at_us)),
            Reply::Grant(Grant { granted, remaining, reset_after_us, at_us }) => {
                let (granted, remaining, reset_after_us) = (*granted, *remaining, *reset_after_us);
                (Answer::Grant { granted, remaining, reset_after_us }, Some(*at_us))
            }
            Reply::Settled(None) => (Answer::NotSettled { settled: false }, None),
            Reply::Settled(Some(reply::Settled { remaining, reset_after_us })) => {
                let (remaining, reset_after_us) = (*remaining, *reset_after_us);
                (Answer::Settled { settled: true, remaining, reset_after_us }, None)
            }
            Reply::Slots(Slots { allowed, in_use, retry_after_us, at_us }) => {
                let (allowed, in_use, retry_after_us) = (*allowed, *in_use, wait(*retry_after_us));
                (Answer::Slots { allowed, limit, in_use, retry_after_us }, Some(*at_us))
            }
            Reply::Released(Released { released, in_use }) => {
                (Answer::Released { released: *released, in_use: *in_use }, None)
            }
            _ => return None,
        })
    }
}

fn checked_all(checked: &CheckedAll<'_>, limits: &Limits) -> Answer {
    let checks = checked.decisions().zip(limits).map(|(part, limit)| Decision::of(&part, *limit)).collect();
    Answer::CheckedAll { allowed: checked.allowed, retry_after_us: wait(checked.retry_after_us), checks }
}

impl Decision {
    fn of(decision: &reply::Decision, limit: u64) -> Decision {
        let reply::Decision { allowed, remaining, retry_after_us, reset_after_us, charged, delay_us, .. } = *decision;
        Decision { allowed, limit, remaining, retry_after_us: wait(retry_after_us), reset_after_us, charged, delay_us }
    }
}

fn wait(us: u64) -> Option<u64> {
    (us != WAIT_NEVER_US).then_some(us)
}
