//! What a run has measured.

mod json;
mod machine;
mod table;

use std::fmt;
use std::path::Path;

use super::args::Plan;
use super::error::BenchError;
use super::exact::Exactness;
use super::round::Round;
use super::statistics::{Spread, share};
use super::target::Scheme;

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
}

/// A target's results.
#[derive(Debug, serde::Serialize)]
pub(super) struct Measured {
    pub(super) label: String,
    pub(super) scheme: Scheme,
    /// What the target says it is, where it says so.
    pub(super) version: Option<String>,
    pub(super) exactness: Option<Exactness>,
    pub(super) rows: Vec<Row>,
}

/// The rounds of one target in one setting.
#[derive(Debug, serde::Serialize)]
pub(super) struct Row {
    pub(super) setting: Setting,
    pub(super) rounds: Vec<Figures>,
}

/// How a target is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Setting {
    /// Connections that send so many calls at once.
    Pipeline(u32),
    /// Concurrent callers of one client.
    Callers(u32),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Pipeline(depth) => write!(f, "pipeline {depth}"),
            Setting::Callers(callers) => write!(f, "{callers} callers"),
        }
    }
}

/// The figures of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Figures {
    pub(super) decisions: u64,
    pub(super) denied: u64,
    pub(super) undecided: u64,
    pub(super) elapsed_ns: u64,
    pub(super) decisions_per_s: u64,
    /// Processor time of the server's process, in nanoseconds a decision, where it can be seen.
    pub(super) server_cpu_ns: Option<u64>,
    /// Processor time of the generator, in nanoseconds a decision.
    pub(super) generator_cpu_ns: u64,
    /// Processor time of the generator, in thousandths of the time that passed.
    pub(super) generator_permille: u64,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) p999_ns: u64,
}

impl Figures {
    pub(super) fn of(round: &Round) -> Figures {
        let decisions = round.tally.decisions();
        let elapsed_ns = u64::try_from(round.elapsed.as_nanos()).unwrap_or(u64::MAX);
        let latency = &round.tally.latency_ns;
        Figures {
            decisions,
            denied: round.tally.denied,
            undecided: round.tally.undecided,
            elapsed_ns,
            decisions_per_s: share(decisions, elapsed_ns, 1_000_000_000),
            server_cpu_ns: round.server_cpu_ns.map(|ns| share(ns, decisions, 1)),
            generator_cpu_ns: share(round.generator_cpu_ns, decisions, 1),
            generator_permille: share(round.generator_cpu_ns, elapsed_ns, 1_000),
            p50_ns: latency.value_at_quantile(0.5),
            p99_ns: latency.value_at_quantile(0.99),
            p999_ns: latency.value_at_quantile(0.999),
        }
    }
}

impl Row {
    /// The spread of one figure over the rounds.
    fn spread(&self, figure: impl Fn(&Figures) -> u64) -> Option<Spread> {
        Spread::of(self.rounds.iter().map(figure))
    }

    fn generator_busy(&self) -> bool {
        self.spread(|figures| figures.generator_permille).is_some_and(|load| load.median >= GENERATOR_BUSY_PERMILLE)
    }
}

impl Report {
    /// Whether every target of ours admitted exactly what it should have.
    pub(super) fn is_exact(&self) -> bool {
        let ours = self.targets.iter().filter(|target| target.scheme.must_be_exact());
        ours.filter_map(|target| target.exactness).all(|exactness| exactness.is_exact())
    }

    /// The table, for people.
    pub(super) fn to_text(&self) -> String {
        table::render(self)
    }

    /// Writes everything, for programs.
    pub(super) fn write_json(&self, path: &Path) -> Result<(), BenchError> {
        json::write(self, path)
    }

    /// The decisions a second of the first Redis in a setting: what ratios refer to.
    fn yardstick(&self, setting: Setting) -> Option<u64> {
        let redis = self.targets.iter().find(|target| target.scheme == Scheme::Redis)?;
        let row = redis.rows.iter().find(|row| row.setting == setting)?;
        row.spread(|figures| figures.decisions_per_s).map(|spread| spread.median)
    }
}
