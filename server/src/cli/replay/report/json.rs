//! The report as one line of JSON: contract, see `docs/rules.md`.

use serde_json::{Value, json};

use super::{Report, RuleReport};
use crate::cli::replay::time;

pub(in crate::cli::replay) fn text(report: &Report) -> String {
    let span = report.span_us.map(|(first, last)| [time::display(first), time::display(last)]);
    let value = json!({
        "lines": report.counts.lines,
        "skipped": report.counts.skipped,
        "cut": report.counts.cut,
        "late": report.counts.late,
        "nowhere": report.counts.nowhere,
        "failures": report.counts.failures,
        "full": report.full,
        "untracked": report.untracked,
        "not_judged": report.not_judged,
        "requests": report.requests,
        "admitted": report.admitted,
        "rejected": report.rejected(),
        "first": span.as_ref().map(|span| &span[0]),
        "last": span.as_ref().map(|span| &span[1]),
        "rules": report.rules.iter().map(rule).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn rule(rule: &RuleReport) -> Value {
    let peak = rule
        .peak
        .as_ref()
        .map(|peak| json!({ "requests": peak.requests, "key": peak.key, "at": time::display(peak.t_us) }));
    json!({
        "rule": rule.id,
        "group": rule.group,
        "shadow": rule.is_shadow,
        "allowed": rule.allowed,
        "denied": rule.denied,
        "keys": rule.keys,
        "keys_denied": rule.keys_denied,
        "top": rule.worst,
        "peak": peak,
    })
}
