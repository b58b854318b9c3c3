//! Fields that no event has: a misspelt one would otherwise be left out in silence, and the decision be another one.

use serde_json::Value;

use super::Op;
use super::field::Fields;

/// What an event may have; which of them an operation reads is its own affair.
const OF_AN_EVENT: [&str; 17] = [
    "t_us",
    "op",
    "key",
    "algorithm",
    "limit",
    "period_us",
    "calendar",
    "burst",
    "cost",
    "keep",
    "force",
    "id",
    "ttl_us",
    "holder",
    "actual",
    "charged_at_us",
    "checks",
];

/// What a part of a joint check may have: it is a check, and nothing else.
const OF_A_PART: [&str; 9] = ["key", "algorithm", "limit", "period_us", "calendar", "burst", "cost", "keep", "force"];

/// A field that is none of an event's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Stranger {
    /// Its path: `cots`, `checks[1].op`.
    pub path: String,
    /// What may stand there.
    pub reason: String,
}

/// The first field that has no place in an event, if there is one.
pub fn stranger(op: Op, fields: &Fields) -> Option<Stranger> {
    let own = fields.keys().find(|name| !OF_AN_EVENT.contains(&name.as_str()));
    let own = own.map(|name| Stranger { path: name.clone(), reason: unknown("an event", &OF_AN_EVENT) });
    own.or_else(|| matches!(op, Op::CheckAll).then(|| of_parts(fields)).flatten())
}

fn of_parts(fields: &Fields) -> Option<Stranger> {
    let parts = fields.get("checks")?.as_array()?;
    parts.iter().enumerate().find_map(|(no, part)| of_part(no, part))
}

fn of_part(no: usize, part: &Value) -> Option<Stranger> {
    let name = part.as_object()?.keys().find(|name| !OF_A_PART.contains(&name.as_str()))?;
    Some(Stranger { path: format!("checks[{no}].{name}"), reason: unknown("a part of a check_all", &OF_A_PART) })
}

fn unknown(whole: &str, known: &[&str]) -> String {
    format!("unknown field: {whole} has {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(op: Op, event: &str, expect: Option<&str>) {
        let fields = super::super::field::parse(event).unwrap();
        assert_eq!(stranger(op, &fields).map(|stranger| stranger.path).as_deref(), expect, "{event}");
    }

    #[test]
    fn a_field_that_no_event_has_is_found_by_its_path() {
        check(Op::Check, r#"{"key":"k","cots":5}"#, Some("cots"));
        check(Op::Check, r#"{"":5}"#, Some(""));
        check(Op::Release, r#"{"key":"k","holder":"h","limit":3}"#, None);
        check(Op::CheckAll, r#"{"checks":[{"key":"k"},{"key":"k","op":"refund"}]}"#, Some("checks[1].op"));
        check(Op::CheckAll, r#"{"checks":[{"key":"k","cots":1}]}"#, Some("checks[0].cots"));
        check(Op::CheckAll, r#"{"checks":[7]}"#, None);
        check(Op::CheckAll, r#"{"checks":7}"#, None);
        check(Op::Check, r#"{"key":"k","checks":[{"cots":1}]}"#, None);
    }

    #[test]
    fn a_stranger_is_told_who_is_none() {
        let fields = super::super::field::parse(r#"{"cots":5}"#).unwrap();
        let said = stranger(Op::Check, &fields).unwrap().to_string();
        assert!(said.starts_with("cots: unknown field: an event has t_us, op, key, "), "{said}");
    }
}
