//! The report for a terminal.

use std::fmt::Write as _;

use super::{Report, RuleReport};
use crate::cli::columns::Columns;
use crate::cli::number::{grouped, per_cent};
use crate::cli::replay::time;

/// Keys that are named for each rule.
const WORST_SHOWN: usize = 3;
const TITLES: [&str; 7] = ["rule", "allowed", "denied", "", "keys", "denied", "peak"];

pub(in crate::cli::replay) fn text(report: &Report) -> String {
    let mut text = summary(report);
    if report.rules.is_empty() {
        return text;
    }
    let head = TITLES.map(str::to_owned);
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(report.rules.iter().map(cells)).collect();
    let columns = Columns::of(&rows, 1);
    text.push('\n');
    text.push_str(&columns.line(&rows[0]));
    for (row, rule) in rows[1..].iter().zip(&report.rules) {
        text.push_str(&columns.line(row));
        text.extend(worst(rule));
    }
    text
}

fn summary(report: &Report) -> String {
    let mut text = format!(
        "{} requests, {} admitted, {} rejected ({})",
        grouped(report.requests),
        grouped(report.admitted),
        grouped(report.rejected()),
        per_cent(report.rejected(), report.requests)
    );
    if let Some((first, last)) = report.span_us {
        let _ = write!(text, ", {} to {} UTC", time::display(first), time::display(last));
    }
    text.push('\n');
    text
}

fn cells(rule: &RuleReport) -> [String; 7] {
    let name = if rule.is_shadow { format!("{} (shadow)", rule.id) } else { rule.id.clone() };
    [
        name,
        grouped(rule.allowed),
        grouped(rule.denied),
        per_cent(rule.denied, rule.decisions()),
        grouped(rule.keys as u64),
        grouped(rule.keys_denied as u64),
        rule.peak.as_ref().map_or("-".to_owned(), |peak| grouped(peak.requests)),
    ]
}

/// A text that whoever sends requests has chosen, as it is safe to show: what steers a terminal or the direction of
/// writing is spelled out.
fn visible(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().flat_map(|c| if steers(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

fn worst(rule: &RuleReport) -> Option<String> {
    let named = rule.worst.iter().take(WORST_SHOWN);
    let named: Vec<String> = named.map(|(key, denied)| format!("{}: {}", visible(key), grouped(*denied))).collect();
    if named.is_empty() { None } else { Some(format!("  most denied: {}\n", named.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_spelled_out() {
        assert_eq!(visible("a\u{1b}[31m\n\u{202e}é"), "a\\u{1b}[31m\\n\\u{202e}é");
    }
}
