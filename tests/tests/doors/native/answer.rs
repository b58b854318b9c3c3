//! Replies in the words of a trace, to be compared with what was recorded.

use serde_json::{Map, Value, json};
use tallyring_protocol::Reply;
use tallyring_protocol::bounds::WAIT_NEVER_US;
use tallyring_protocol::reply::{CheckedAll, Decision, Grant, Released, Settled, Slots};

/// A decision on the wire does not repeat its limit: whoever asks has defined it.
pub(super) fn forget_limits(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("limit");
    }
    value.get_mut("checks").and_then(Value::as_array_mut).into_iter().flatten().for_each(forget_limits);
}

/// What a reply says, in the words of a trace. `now_us` is the instant that it must name.
pub(super) fn found(reply: &Reply<'_>, now_us: u64) -> Value {
    match reply {
        Reply::Decision(found) => {
            // A reserve that repeats its first decision names the instant of that one.
            assert!(found.at_us <= now_us, "{} lies ahead of {now_us}", found.at_us);
            decision(found)
        }
        Reply::Grant(Grant { granted, remaining, reset_after_us, at_us }) => {
            assert_eq!(*at_us, now_us);
            json!({ "granted": granted, "remaining": remaining, "reset_after_us": reset_after_us })
        }
        Reply::CheckedAll(checked) => checked_all(checked, now_us),
        Reply::Settled(None) => json!({ "settled": false }),
        Reply::Settled(Some(Settled { remaining, reset_after_us })) => {
            json!({ "settled": true, "remaining": remaining, "reset_after_us": reset_after_us })
        }
        Reply::Slots(Slots { allowed, in_use, retry_after_us, at_us }) => {
            assert_eq!(*at_us, now_us);
            json!({ "allowed": allowed, "in_use": in_use, "retry_after_us": wait(*retry_after_us) })
        }
        Reply::Released(Released { released, in_use }) => json!({ "released": released, "in_use": in_use }),
        Reply::Full => json!({ "error": "full" }),
        Reply::Invalid { field, .. } => json!({ "error": "invalid", "field": field }),
        other => panic!("no answer: {other:?}"),
    }
}

fn checked_all(checked: &CheckedAll<'_>, now_us: u64) -> Value {
    assert!(checked.decisions().all(|decision| decision.at_us == now_us));
    let checks: Vec<Value> = checked.decisions().map(|part| decision(&part)).collect();
    json!({ "allowed": checked.allowed, "retry_after_us": wait(checked.retry_after_us), "checks": checks })
}

fn decision(decision: &Decision) -> Value {
    let mut fields = Map::from_iter([
        ("allowed".to_owned(), json!(decision.allowed)),
        ("remaining".to_owned(), json!(decision.remaining)),
        ("retry_after_us".to_owned(), wait(decision.retry_after_us)),
        ("reset_after_us".to_owned(), json!(decision.reset_after_us)),
    ]);
    decision.charged.map(|charged| fields.insert("charged".to_owned(), json!(charged)));
    decision.delay_us.map(|delay_us| fields.insert("delay_us".to_owned(), json!(delay_us)));
    Value::Object(fields)
}

fn wait(wait_us: u64) -> Value {
    if wait_us == WAIT_NEVER_US { Value::Null } else { json!(wait_us) }
}
