//! The report as a page with pictures that needs nothing else.

use std::fmt::{self, Write as _};

use tallyring_engine::Algorithm;

use super::table::Table;
use super::{Measured, Report, Row, notes, table};
use crate::cli::bench::latency::Percentiles;
use crate::cli::bench::memory::Memory;
use crate::cli::bench::setting::{Pace, Setting};
use crate::cli::bench::statistics::Spread;
use crate::cli::chart::bars::{self, Bar};
use crate::cli::chart::curves::{self, Curve};
use crate::cli::number::grouped;
use crate::cli::page::{self, escaped};

pub(super) fn page(report: &Report) -> String {
    page::page("What was measured", |page| write_body(page, report))
}

fn write_body(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<h1>What was measured</h1>")?;
    for line in notes::head_lines(report) {
        writeln!(page, "<p class=\"span\">{}</p>", escaped(&line))?;
    }
    for setting in report.settings() {
        let rows: Vec<_> = report.rows_of(setting).collect();
        writeln!(page, "<section>\n<h2>{}</h2>", escaped(&setting.to_string()))?;
        match rows.iter().all(|(_, row)| row.is_closed()) {
            true => write_closed(page, setting, &rows)?,
            false => write_open(page, &report.plan.algorithms, &rows)?,
        }
        writeln!(page, "</section>")?;
    }
    write_loads(page, report)?;
    write_memory(page, &report.memory)?;
    table::tables(report).iter().try_for_each(|table| write_table(page, table))?;
    writeln!(page, "<footer>\n<ul>")?;
    for line in notes::foot_lines(report) {
        writeln!(page, "<li>{}</li>", escaped(&line))?;
    }
    writeln!(page, "</ul>\n</footer>")
}

/// How many decisions, and what each cost the server.
fn write_closed(page: &mut String, setting: Setting, rows: &[(&Measured, &Row)]) -> fmt::Result {
    let what = format!("{setting}: decisions a second");
    writeln!(page, "<h3>decisions a second, the median of the rounds and their ends</h3>")?;
    bars::write(page, &what, &bars_of(rows, |row| row.spread(|figures| figures.decisions_per_s)))?;
    writeln!(page, "<h3>processor time of the server, nanoseconds a decision</h3>")?;
    let cost = |row: &Row| row.spread(|figures| figures.server_cpu_ns.unwrap_or(0)).filter(|cost| cost.median > 0);
    bars::write(page, &format!("{setting}: CPU-ns a decision"), &bars_of(rows, cost))
}

fn bars_of(rows: &[(&Measured, &Row)], figure: impl Fn(&Row) -> Option<Spread>) -> Vec<Bar> {
    let bar = |(target, row): &(&Measured, &Row)| {
        let spread = figure(row)?;
        Some(Bar {
            name: target.to_string(),
            length: spread.median,
            range: Some((spread.min, spread.max)),
            text: grouped(spread.median),
            class: if target.scheme.must_be_exact() { "allowed" } else { "peer" },
        })
    };
    rows.iter().filter_map(bar).collect()
}

/// How late answers were: of all rounds together, a picture an algorithm.
fn write_open(page: &mut String, algorithms: &[Algorithm], rows: &[(&Measured, &Row)]) -> fmt::Result {
    for algorithm in algorithms.iter().map(|algorithm| algorithm.name()) {
        let peers = rows.iter().filter(|(target, _)| counts_by(target, algorithm));
        let curve = |(target, row): &(&Measured, &Row)| Curve {
            name: target.label.clone(),
            values: row.latency.values().to_vec(),
        };
        let curves: Vec<Curve> = peers.map(curve).collect();
        writeln!(page, "<h3>{algorithm}: latency from when a call was due, all rounds together</h3>")?;
        curves::write(page, "latency by percentile", &Percentiles::NAMES, &curves, duration)?;
    }
    Ok(())
}

/// Whether a target belongs into the picture of an algorithm. What decides nothing belongs into each.
fn counts_by(target: &Measured, algorithm: &str) -> bool {
    target.algorithm.is_none_or(|own| own == algorithm)
}

/// What becomes of the tail as the load grows, where several loads were offered: a picture a shape and algorithm.
fn write_loads(page: &mut String, report: &Report) -> fmt::Result {
    let settings = report.settings();
    for closed in settings.iter().filter(|setting| setting.pace == Pace::Closed) {
        let of_shape = settings.iter().filter(|setting| setting.shape == closed.shape);
        let loads: Vec<Setting> =
            of_shape.filter(|setting| matches!(setting.pace, Pace::Percent(_))).copied().collect();
        if loads.len() < 2 {
            continue;
        }
        writeln!(page, "<section>\n<h2>{}, p99 by load</h2>", escaped(&closed.to_string()))?;
        for algorithm in report.plan.algorithms.iter().map(|algorithm| algorithm.name()) {
            writeln!(page, "<h3>{algorithm}: at per cents of what each target reached, the median of the rounds</h3>")?;
            write_tail(page, report, &loads, algorithm)?;
        }
        writeln!(page, "</section>")?;
    }
    Ok(())
}

fn write_tail(page: &mut String, report: &Report, loads: &[Setting], algorithm: &str) -> fmt::Result {
    let p99 = |target: &Measured, load: &Setting| {
        let row = target.rows.iter().find(|row| row.setting == *load)?;
        row.spread(|figures| figures.latency.p99_ns).map(|spread| spread.median)
    };
    let curve = |target: &Measured| {
        let values: Option<Vec<u64>> = loads.iter().map(|load| p99(target, load)).collect();
        Some(Curve { name: target.label.clone(), values: values? })
    };
    let peers = report.targets.iter().filter(|target| counts_by(target, algorithm));
    let curves: Vec<Curve> = peers.filter_map(curve).collect();
    let places: Vec<String> = loads.iter().map(|load| load.pace.to_string()).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    curves::write(page, "p99 latency by load", &places, &curves, duration)
}

fn write_memory(page: &mut String, memories: &[Memory]) -> fmt::Result {
    if memories.is_empty() {
        return Ok(());
    }
    let bar = |memory: &Memory| {
        let tenths = memory.tenths_a_key();
        Bar {
            name: format!("{} {}, {} keys", memory.label, memory.algorithm, grouped(memory.keys.into())),
            length: tenths,
            range: None,
            text: format!("{}.{}", tenths / 10, tenths % 10),
            class: "allowed",
        }
    };
    writeln!(page, "<section>\n<h2>Memory</h2>\n<h3>resident bytes a key, allocator included</h3>")?;
    bars::write(page, "bytes a key", &memories.iter().map(bar).collect::<Vec<_>>())?;
    writeln!(page, "</section>")
}

fn write_table(page: &mut String, table: &Table) -> fmt::Result {
    let cells = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        cells.map(|cell| format!("<{name}>{}</{name}>", escaped(cell))).collect::<String>()
    };
    writeln!(page, "<section class=\"wide\">\n<h2>{}</h2>\n<table>", escaped(table.title))?;
    writeln!(page, "<thead><tr>{}</tr></thead>\n<tbody>", cells("th", &mut table.head.iter().copied()))?;
    for row in &table.rows {
        writeln!(page, "<tr>{}</tr>", cells("td", &mut row.iter().map(String::as_str)))?;
    }
    writeln!(page, "</tbody>\n</table>\n</section>")
}

/// Nanoseconds, in the largest unit that they fill.
fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} µs", ns / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_shown_in_its_unit() {
        let check = |ns, expect| assert_eq!(duration(ns), expect);
        check(999, "999 ns");
        check(1_000, "1 µs");
        check(28_600_000, "28 ms");
        check(60_000_000_000, "60 s");
    }
}
