//! Decisions as JSON. Written by hand: waits reach 86 bits, which no JSON library keeps whole by default.

use std::fmt::Write as _;

use tallyring_engine::{Decision, Grant, Joint, Released, Settled, Slots, Wait};

use crate::event::field::BadField;

/// There is no room for what would be allowed.
pub(super) const FULL: &str = r#"{"error":"full"}"#;

pub(super) fn invalid(bad: &BadField) -> String {
    format!(r#"{{"error":"invalid","field":"{bad}"}}"#)
}

pub(super) fn decision(decision: &Decision) -> String {
    let Decision { allowed, limit, remaining, retry_after, reset_after_us, charged, delay_us } = *decision;
    let retry_after = wait(retry_after);
    let mut line = format!(
        r#"{{"allowed":{allowed},"limit":{limit},"remaining":{remaining},"retry_after_us":{retry_after},"reset_after_us":{reset_after_us}"#
    );
    if let Some(charged) = charged {
        push(&mut line, format_args!(r#","charged":{charged}"#));
    }
    if let Some(delay_us) = delay_us {
        push(&mut line, format_args!(r#","delay_us":{delay_us}"#));
    }
    line.push('}');
    line
}

pub(super) fn joint(joint: &Joint, decisions: &[Decision]) -> String {
    let checks = decisions.iter().map(decision).collect::<Vec<_>>().join(",");
    let Joint { allowed, retry_after } = *joint;
    format!(r#"{{"allowed":{allowed},"retry_after_us":{},"checks":[{checks}]}}"#, wait(retry_after))
}

pub(super) fn grant(grant: &Grant) -> String {
    let Grant { granted, remaining, reset_after_us } = *grant;
    format!(r#"{{"granted":{granted},"remaining":{remaining},"reset_after_us":{reset_after_us}}}"#)
}

pub(super) fn settled(settled: Option<Settled>) -> String {
    match settled {
        None => r#"{"settled":false}"#.to_owned(),
        Some(Settled { remaining, reset_after_us }) => {
            format!(r#"{{"settled":true,"remaining":{remaining},"reset_after_us":{reset_after_us}}}"#)
        }
    }
}

pub(super) fn slots(slots: &Slots) -> String {
    let Slots { allowed, limit, in_use, retry_after } = *slots;
    let retry_after = wait(retry_after);
    format!(r#"{{"allowed":{allowed},"limit":{limit},"in_use":{in_use},"retry_after_us":{retry_after}}}"#)
}

pub(super) fn released(released: Released) -> String {
    let Released { released, in_use } = released;
    format!(r#"{{"released":{released},"in_use":{in_use}}}"#)
}

fn wait(wait: Wait) -> String {
    wait.exact_us().map_or_else(|| "null".to_owned(), |micros| micros.to_string())
}

fn push(line: &mut String, text: std::fmt::Arguments<'_>) {
    line.write_fmt(text).expect("writing to a string cannot fail");
}
