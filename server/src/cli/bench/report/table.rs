//! The report as a table of aligned columns.

use std::fmt::Write as _;

use super::{Figures, Measured, Report, Row, Setting};
use crate::cli::bench::exact::Exactness;
use crate::cli::bench::statistics::{Spread, share};

const COLUMNS: usize = 13;

const HEAD: [&str; COLUMNS] = [
    "target",
    "setting",
    "decisions/s",
    "min – max",
    "× redis",
    "server CPU-ns",
    "own CPU-ns",
    "own load",
    "p50 µs",
    "p99 µs",
    "p99.9 µs",
    "denied",
    "admitted/exact",
];

/// Columns that read better from the left: names.
const LEFT_ALIGNED: usize = 2;

type Cells = [String; COLUMNS];

/// Everything that is printed on stdout.
pub(super) fn render(report: &Report) -> String {
    let mut cells = vec![HEAD.map(str::to_owned)];
    for setting in settings(report) {
        for target in &report.targets {
            let rows = target.rows.iter().filter(|row| row.setting == setting);
            cells.extend(rows.map(|row| line(report, target, row)));
        }
    }
    let mut text = head(report);
    text.push_str(&align(&cells));
    text.push_str(&notes(report));
    text
}

/// Every setting once, in the order of the run: the table groups by setting, so that peers stand together.
fn settings(report: &Report) -> Vec<Setting> {
    let mut settings = Vec::new();
    for row in report.targets.iter().flat_map(|target| &target.rows) {
        if !settings.contains(&row.setting) {
            settings.push(row.setting);
        }
    }
    settings
}

fn head(report: &Report) -> String {
    let (machine, plan) = (&report.machine, &report.plan);
    let mut text = format!("tallyring {} on {}, ", report.version, machine.processor);
    let _ = writeln!(text, "{} processors, Linux {}", machine.processors, machine.kernel);
    let _ = write!(text, "{} random keys, {} connections, ", thousands(plan.keys.into()), plan.connections);
    let _ = writeln!(text, "{} rounds of {} ms, alternating", plan.rounds, plan.round_ms);
    for (who, cpu) in [("servers", report.server_cpu), ("generator", report.generator_cpu)] {
        if let Some(cpu) = cpu {
            let _ = writeln!(text, "{who} bound to processor {cpu}");
        }
    }
    for target in &report.targets {
        if let Some(version) = &target.version {
            let _ = writeln!(text, "{}: {version}, EVALSHA of the same token bucket", target.label);
        }
    }
    text.push('\n');
    text
}

fn line(report: &Report, target: &Measured, row: &Row) -> Cells {
    let figure = |figure: fn(&Figures) -> u64| row.spread(figure);
    let rate = figure(|figures| figures.decisions_per_s);
    let server = Spread::of(row.rounds.iter().filter_map(|figures| figures.server_cpu_ns));
    let denied = figure(|figures| share(figures.denied, figures.decisions, 1_000));
    [
        target.label.clone(),
        row.setting.to_string(),
        middle(rate, thousands),
        rate.map_or_else(dash, |rate| format!("{} – {}", thousands(rate.min), thousands(rate.max))),
        report.yardstick(row.setting).zip(rate).map_or_else(dash, |(redis, rate)| ratio(rate.median, redis)),
        middle(server, thousands),
        middle(figure(|figures| figures.generator_cpu_ns), thousands),
        middle(figure(|figures| figures.generator_permille), percent) + if row.generator_busy() { "*" } else { "" },
        middle(figure(|figures| figures.p50_ns), micros),
        middle(figure(|figures| figures.p99_ns), micros),
        middle(figure(|figures| figures.p999_ns), micros),
        middle(denied, percent),
        target.exactness.map_or_else(dash, admitted),
    ]
}

fn notes(report: &Report) -> String {
    let mut text = String::from(
        "\nMedians of the rounds. CPU-ns: processor time a decision, of the server's process and of this one.\n",
    );
    let rows = || report.targets.iter().flat_map(|target| &target.rows);
    if rows().any(Row::generator_busy) {
        text.push_str("* The generator was busy all the time: the target may be faster than this.\n");
    }
    let undecided: u64 = rows().flat_map(|row| &row.rounds).map(|figures| figures.undecided).sum();
    if undecided > 0 {
        let _ = writeln!(text, "{} calls were answered without a decision.", thousands(undecided));
    }
    for target in &report.targets {
        if let Some(exactness) = target.exactness.filter(|exactness| !exactness.is_exact()) {
            let (admitted, exact) = (exactness.admitted, exactness.exact);
            let _ = writeln!(text, "{} admitted {admitted} calls where the limit allows {exact}.", target.label);
        }
    }
    text
}

/// The first columns padded on the right, the others on the left; columns two spaces apart.
fn align(rows: &[Cells]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                1..LEFT_ALIGNED => write!(text, "  {cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn middle(spread: Option<Spread>, show: fn(u64) -> String) -> String {
    spread.map_or_else(dash, |spread| show(spread.median))
}

fn dash() -> String {
    "-".to_owned()
}

fn admitted(exactness: Exactness) -> String {
    format!("{}/{}", exactness.admitted, exactness.exact)
}

/// `1234567` as `1,234,567`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many times `whole` goes into `part`, to the hundredth.
fn ratio(part: u64, whole: u64) -> String {
    let hundredths = share(part, whole, 100);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Thousandths as per cent.
fn percent(permille: u64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

/// Nanoseconds as microseconds.
fn micros(ns: u64) -> String {
    format!("{}.{}", thousands(ns / 1_000), ns % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_for_the_eye() {
        let check = |shown: String, expect| assert_eq!(shown, expect);
        check(thousands(7), "7");
        check(thousands(1_234_567), "1,234,567");
        check(ratio(5, 2), "2.50");
        check(ratio(1, 300), "0.00");
        check(percent(253), "25.3 %");
        check(micros(1_234_567), "1,234.5");
        check(micros(80), "0.0");
    }

    #[test]
    fn columns_are_aligned_whatever_their_script() {
        let row = |name: &str, number: &str| {
            let mut cells: Cells = std::array::from_fn(|_| String::new());
            (cells[0], cells[2]) = (name.to_owned(), number.to_owned());
            cells
        };
        assert_eq!(align(&[row("µ", "1"), row("abc", "1,000")]), "µ          1\nabc    1,000\n");
    }
}
