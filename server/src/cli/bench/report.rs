//! What a run has measured.

mod figures;
mod file;
mod html;
mod machine;
mod markdown;
mod notes;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use super::error::BenchError;
use super::exact::Exactness;
use super::latency::{Latencies, Percentiles};
use super::memory::Memory;
use super::plan::Plan;
use super::setting::{Pace, Setting};
use super::statistics::Spread;
use super::subject::Subject;
use super::target::Scheme;

pub(super) use figures::Figures;
pub(super) use machine::Machine;

/// Generator load, in thousandths of its processor, from which on a row says more about the generator than the target.
const GENERATOR_BUSY_PERMILLE: u64 = 950;

/// A run's results.
#[derive(Debug, serde::Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) machine: Machine,
    /// The processor to which the servers are bound that the run started, if there are any and it is bound.
    pub(super) server_cpu: Option<usize>,
    /// The processor to which the generator is bound.
    pub(super) generator_cpu: Option<usize>,
    pub(super) plan: Plan,
    pub(super) targets: Vec<Measured>,
    pub(super) memory: Vec<Memory>,
}

/// A target's results under one algorithm.
#[derive(Debug, serde::Serialize)]
pub(super) struct Measured {
    pub(super) label: String,
    pub(super) scheme: Scheme,
    /// How it counts; none if it decides nothing.
    pub(super) algorithm: Option<&'static str>,
    /// What the target says it is, where it says so, and by which command it was asked.
    pub(super) version: Option<String>,
    pub(super) exactness: Option<Exactness>,
    pub(super) rows: Vec<Row>,
}

/// The rounds of one target in one setting.
#[derive(Debug, serde::Serialize)]
pub(super) struct Row {
    pub(super) setting: Setting,
    pub(super) rounds: Vec<Figures>,
    /// Of all rounds together.
    pub(super) latency: Percentiles,
    #[serde(skip)]
    latencies: Latencies,
}

impl Measured {
    pub(super) fn nothing_yet(subject: &Subject) -> Measured {
        let target = subject.target();
        Measured {
            label: target.label.clone(),
            scheme: target.scheme,
            algorithm: subject.decides().then(|| subject.algorithm.name()),
            version: subject.version.clone(),
            exactness: None,
            rows: Vec::new(),
        }
    }

    /// The decisions a second in a setting, at the median.
    pub(super) fn reached(&self, setting: Setting) -> Option<u64> {
        let row = self.rows.iter().find(|row| row.setting == setting)?;
        row.spread(|figures| figures.decisions_per_s).map(|spread| spread.median)
    }
}

/// The label, and the algorithm if there is one.
impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm {
            Some(algorithm) => write!(f, "{} {algorithm}", self.label),
            None => f.write_str(&self.label),
        }
    }
}

impl Row {
    pub(super) fn new(setting: Setting) -> Row {
        Row { setting, rounds: Vec::new(), latency: Percentiles::default(), latencies: Latencies::new() }
    }

    /// Takes a round in.
    pub(super) fn add(&mut self, figures: Figures, latencies: &Latencies) {
        self.rounds.push(figures);
        self.latencies.merge(latencies);
        self.latency = self.latencies.percentiles();
    }

    /// The spread of one figure over the rounds.
    fn spread(&self, figure: impl Fn(&Figures) -> u64) -> Option<Spread> {
        Spread::of(self.rounds.iter().map(figure))
    }

    fn is_closed(&self) -> bool {
        self.setting.pace == Pace::Closed
    }

    /// Whether the generator had no time left. In an open loop it never sleeps, and says how late it was instead.
    fn generator_busy(&self) -> bool {
        let load = self.spread(|figures| figures.generator_permille);
        self.is_closed() && load.is_some_and(|load| load.median >= GENERATOR_BUSY_PERMILLE)
    }
}

impl Report {
    /// Whether every target of ours admitted exactly what it should have.
    pub(super) fn is_exact(&self) -> bool {
        let ours = self.targets.iter().filter(|target| target.scheme.must_be_exact());
        ours.filter_map(|target| target.exactness).all(|exactness| exactness.is_exact())
    }

    /// The tables, for people at a terminal.
    pub(super) fn to_text(&self) -> String {
        notes::head(self)
            + &table::tables(self).iter().map(|table| table.to_text() + "\n").collect::<String>()
            + &notes::foot(self)
    }

    /// The tables, for a document.
    pub(super) fn to_markdown(&self) -> String {
        markdown::render(self)
    }

    /// Writes everything, for programs.
    pub(super) fn write_json(&self, path: &Path) -> Result<(), BenchError> {
        file::write_json(self, path)
    }

    /// Writes a page with pictures.
    pub(super) fn write_html(&self, path: &Path) -> Result<(), BenchError> {
        file::write(path, &html::page(self))
    }

    /// Every setting once, in the order of the run.
    fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for row in self.targets.iter().flat_map(|target| &target.rows) {
            if !settings.contains(&row.setting) {
                settings.push(row.setting);
            }
        }
        settings
    }

    /// The rows of a setting, in the order of the targets: peers stand together.
    fn rows_of(&self, setting: Setting) -> impl Iterator<Item = (&Measured, &Row)> {
        let of_target = move |target: &'_ Measured| target.rows.iter().position(|row| row.setting == setting);
        self.targets.iter().filter_map(move |target| Some((target, &target.rows[of_target(target)?])))
    }

    /// The decisions a second of the first Redis that counts in the same way: what ratios refer to.
    fn yardstick(&self, algorithm: Option<&str>, setting: Setting) -> Option<u64> {
        let mut redis = self.targets.iter().filter(|target| target.scheme == Scheme::Redis);
        // What decides nothing is compared with the first algorithm.
        redis.find(|target| algorithm.is_none() || target.algorithm == algorithm)?.reached(setting)
    }
}
