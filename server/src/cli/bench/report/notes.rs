//! What stands above the tables, and what is to be known of their figures.

use std::fmt::Write as _;

use super::{Report, Row};
use crate::cli::number::grouped;

/// Where and how: a line each.
pub(super) fn head_lines(report: &Report) -> Vec<String> {
    let (machine, plan) = (&report.machine, &report.plan);
    let mut lines = vec![
        format!(
            "tallyring {} on {}, {} processors, Linux {}",
            report.version, machine.processor, machine.processors, machine.kernel
        ),
        format!(
            "{} keys, {}; {} connections; alternating rounds: {} of {} ms",
            grouped(plan.accounts().into()),
            plan.mix.description(),
            plan.connections,
            plan.rounds,
            plan.round_ms
        ),
    ];
    let bound = [("servers", report.server_cpu), ("generator", report.generator_cpu)];
    let bound = bound.into_iter().filter_map(|(who, cpu)| Some(format!("{who} bound to processor {}", cpu?)));
    lines.extend(bound);
    for target in &report.targets {
        let known = target.version.as_ref().map(|version| format!("{}: {version}", target.label));
        lines.extend(known.filter(|line| !lines.contains(line)));
    }
    lines
}

/// The same as text.
pub(super) fn head(report: &Report) -> String {
    head_lines(report).join("\n") + "\n\n"
}

/// What is to be known, a line each.
pub(super) fn foot_lines(report: &Report) -> Vec<String> {
    let rows = || report.targets.iter().flat_map(|target| &target.rows);
    let mut lines = vec![
        "Medians of the rounds. CPU-ns: processor time a decision, of the server's process and of this one.".to_owned(),
    ];
    if rows().any(Row::generator_busy) {
        lines.push("* The generator was busy all the time: the target may be faster than this.".to_owned());
    }
    if rows().any(|row| !row.is_closed()) {
        lines.push(
            "In an open loop the generator never sleeps; \"said late\" is its own share of a latency.".to_owned(),
        );
    }
    let undecided: u64 = rows().flat_map(|row| &row.rounds).map(|figures| figures.undecided).sum();
    if undecided > 0 {
        lines.push(format!("{} calls were answered without a decision.", grouped(undecided)));
    }
    for target in &report.targets {
        if let Some(exactness) = target.exactness.filter(|exactness| !exactness.is_exact()) {
            let (admitted, exact) = (exactness.admitted, exactness.exact);
            lines.push(format!("{target} admitted {admitted} calls where the limit allows {exact}."));
        }
    }
    lines
}

/// The same as text.
pub(super) fn foot(report: &Report) -> String {
    let mut text = String::new();
    for line in foot_lines(report) {
        let _ = writeln!(text, "{line}");
    }
    text
}
