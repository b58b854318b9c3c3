//! Open loops: how late answers are at a fixed rate.

use super::Table;
use super::cells::{dash, ends, micros, middle};
use crate::cli::bench::report::{Figures, Measured, Report, Row};
use crate::cli::bench::statistics::Spread;
use crate::cli::number::grouped;

const HEAD: [&str; 13] = [
    "target",
    "algorithm",
    "setting",
    "offered/s",
    "decisions/s",
    "p50 µs",
    "p90 µs",
    "p99 µs",
    "p99 min – max",
    "p99.9 µs",
    "max µs",
    "said late, p99 µs",
    "undecided",
];

pub(super) fn table(report: &Report) -> Table {
    let settings = report.settings();
    let rows = settings.iter().flat_map(|setting| report.rows_of(*setting)).filter(|(_, row)| !row.is_closed());
    let rows = rows.map(|(target, row)| line(target, row)).collect();
    Table { title: "Open loop: latency from when a call was due", head: HEAD.to_vec(), rows }
}

fn line(target: &Measured, row: &Row) -> Vec<String> {
    let figure = |figure: fn(&Figures) -> u64| row.spread(figure);
    let some = |figure: fn(&Figures) -> Option<u64>| Spread::of(row.rounds.iter().filter_map(figure));
    let p99 = figure(|figures| figures.latency.p99_ns);
    vec![
        target.label.clone(),
        target.algorithm.unwrap_or("-").to_owned(),
        row.setting.to_string(),
        middle(some(|figures| figures.offered_per_s), grouped),
        middle(figure(|figures| figures.decisions_per_s), grouped),
        middle(figure(|figures| figures.latency.p50_ns), micros),
        middle(figure(|figures| figures.latency.p90_ns), micros),
        middle(p99, micros),
        ends(p99, micros),
        middle(figure(|figures| figures.latency.p999_ns), micros),
        // The worst of a run is the worst of its rounds.
        figure(|figures| figures.latency.max_ns).map_or_else(dash, |spread| micros(spread.max)),
        middle(some(|figures| figures.late_p99_ns), micros),
        grouped(row.rounds.iter().map(|figures| figures.undecided).sum()),
    ]
}
