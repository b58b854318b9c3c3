//! Closed loops: how much a target decides, and at what cost.

use super::Table;
use super::cells::{dash, ends, micros, middle, permille, ratio};
use crate::cli::bench::exact::Exactness;
use crate::cli::bench::report::{Figures, Measured, Report, Row};
use crate::cli::bench::statistics::{Spread, share};
use crate::cli::number::grouped;

const HEAD: [&str; 14] = [
    "target",
    "algorithm",
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

pub(super) fn table(report: &Report) -> Table {
    let settings = report.settings();
    let rows = settings.iter().flat_map(|setting| report.rows_of(*setting)).filter(|(_, row)| row.is_closed());
    let rows = rows.map(|(target, row)| line(report, target, row)).collect();
    Table { title: "Closed loop: as many calls as the target takes", head: HEAD.to_vec(), rows }
}

fn line(report: &Report, target: &Measured, row: &Row) -> Vec<String> {
    let figure = |figure: fn(&Figures) -> u64| row.spread(figure);
    let rate = figure(|figures| figures.decisions_per_s);
    let yardstick = report.yardstick(target.algorithm, row.setting);
    let busy = if row.generator_busy() { "*" } else { "" };
    vec![
        target.label.clone(),
        target.algorithm.unwrap_or("-").to_owned(),
        row.setting.to_string(),
        middle(rate, grouped),
        ends(rate, grouped),
        yardstick.zip(rate).map_or_else(dash, |(redis, rate)| ratio(rate.median, redis)),
        middle(Spread::of(row.rounds.iter().filter_map(|figures| figures.server_cpu_ns)), grouped),
        middle(figure(|figures| figures.generator_cpu_ns), grouped),
        middle(figure(|figures| figures.generator_permille), permille) + busy,
        middle(figure(|figures| figures.latency.p50_ns), micros),
        middle(figure(|figures| figures.latency.p99_ns), micros),
        middle(figure(|figures| figures.latency.p999_ns), micros),
        middle(figure(|figures| share(figures.denied, figures.decisions, 1_000)), permille),
        target.exactness.map_or_else(dash, admitted),
    ]
}

fn admitted(exactness: Exactness) -> String {
    format!("{}/{}", exactness.admitted, exactness.exact)
}
