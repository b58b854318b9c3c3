//! From a reply of the wire to the outcome of a call, by hand.

use tallyring_protocol::reply::{Decision, Grant, Released, Settled, Slots};
use tallyring_protocol::{Malformed, Reply, RulesVersion};

use crate::error::StoreError;
use crate::joint::StoreJoint;

/// What the store said to a call, or why it said nothing.
pub(crate) type Outcome = Result<Answer, StoreError>;

/// What the store said to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To a check, a refund or a reserve.
    Decision(Decision),
    /// To a take.
    Grant(Grant),
    /// To a reset: whether there was anything to forget.
    Reset { found: bool },
    /// To a check_all. Boxed: a slot holds an answer, and most are small.
    CheckedAll(Box<StoreJoint>),
    /// To a settle.
    Settled(Option<Settled>),
    /// To an acquire.
    Slots(Slots),
    /// To a release.
    Released(Released),
    /// To a get_rules: which they are, and the document in JSON.
    Rules(RulesVersion, Vec<u8>),
    /// To a report.
    Reported,
    /// To a ping.
    Pong,
}

/// The outcome that a reply means. One that cannot be read fails its own call, and no other: its frame has an end.
#[inline]
pub(crate) fn outcome(reply: Result<Reply<'_>, Malformed>) -> Outcome {
    match reply {
        Ok(Reply::Decision(decision)) => Ok(Answer::Decision(decision)),
        Ok(Reply::Grant(grant)) => Ok(Answer::Grant(grant)),
        Ok(Reply::ResetDone { found }) => Ok(Answer::Reset { found }),
        Ok(Reply::Pong) => Ok(Answer::Pong),
        Ok(rare) => rare_outcome(rare),
        Err(_) => Err(StoreError::Unexpected),
    }
}

fn rare_outcome(reply: Reply<'_>) -> Outcome {
    match reply {
        Reply::CheckedAll(checked) => Ok(Answer::CheckedAll(Box::new(checked.into()))),
        Reply::Settled(settled) => Ok(Answer::Settled(settled)),
        Reply::Slots(slots) => Ok(Answer::Slots(slots)),
        Reply::Released(released) => Ok(Answer::Released(released)),
        Reply::Rules(rules) => Ok(Answer::Rules(rules.version, rules.json.into_owned())),
        Reply::Reported => Ok(Answer::Reported),
        refusal => Err(error(refusal)),
    }
}

fn error(reply: Reply<'_>) -> StoreError {
    match reply {
        Reply::WrongOwner { epoch, node, address } => {
            StoreError::WrongOwner { epoch, node, address: address.into_owned() }
        }
        Reply::Moving { retry_us } => StoreError::Moving { retry_us },
        Reply::Overloaded => StoreError::Overloaded,
        Reply::Full => StoreError::Full,
        Reply::Unavailable => StoreError::Unavailable,
        Reply::Invalid { field, reason } => {
            StoreError::Invalid { field: field.into_owned(), reason: reason.into_owned() }
        }
        _ => StoreError::Unexpected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallyring_protocol::NodeId;

    #[test]
    fn every_refusal_has_its_error() {
        let check = |reply, error| assert_eq!(outcome(Ok(reply)), Err(error));
        check(Reply::Overloaded, StoreError::Overloaded);
        check(Reply::Full, StoreError::Full);
        check(Reply::Unavailable, StoreError::Unavailable);
        check(Reply::Moving { retry_us: 3 }, StoreError::Moving { retry_us: 3 });
        check(
            Reply::WrongOwner { epoch: 1, node: NodeId(2), address: "b:1".into() },
            StoreError::WrongOwner { epoch: 1, node: NodeId(2), address: "b:1".into() },
        );
        check(
            Reply::Invalid { field: "limit".into(), reason: "0".into() },
            StoreError::Invalid { field: "limit".into(), reason: "0".into() },
        );
        check(Reply::Defined, StoreError::Unexpected);
        assert_eq!(outcome(Err(Malformed::new("kind", "not a reply"))), Err(StoreError::Unexpected));
    }
}
