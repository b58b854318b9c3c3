//! The figures of one round.

use crate::cli::bench::latency::Percentiles;
use crate::cli::bench::round::Round;
use crate::cli::bench::statistics::share;
use crate::cli::number::grouped;

/// What is said of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(in crate::cli::bench) struct Figures {
    pub(in crate::cli::bench) decisions: u64,
    pub(super) denied: u64,
    pub(super) undecided: u64,
    pub(super) elapsed_ns: u64,
    pub(super) decisions_per_s: u64,
    /// Calls a second that were to be said, in an open loop.
    pub(super) offered_per_s: Option<u64>,
    /// Processor time of the server's process, in nanoseconds a decision, where it can be seen.
    pub(super) server_cpu_ns: Option<u64>,
    /// Processor time of the generator, in nanoseconds a decision.
    pub(super) generator_cpu_ns: u64,
    /// Processor time of the generator, in thousandths of the time that passed.
    pub(super) generator_permille: u64,
    #[serde(flatten)]
    pub(super) latency: Percentiles,
    /// How late the generator said a call, at the 99th percentile, in an open loop.
    pub(super) late_p99_ns: Option<u64>,
}

impl Figures {
    pub(in crate::cli::bench) fn of(round: &Round) -> Figures {
        let decisions = round.tally.decisions();
        let elapsed_ns = u64::try_from(round.elapsed.as_nanos()).unwrap_or(u64::MAX);
        Figures {
            decisions,
            denied: round.tally.denied,
            undecided: round.tally.undecided,
            elapsed_ns,
            decisions_per_s: share(decisions, elapsed_ns, 1_000_000_000),
            offered_per_s: round.offered_per_s,
            server_cpu_ns: round.server_cpu_ns.map(|ns| share(ns, decisions, 1)),
            generator_cpu_ns: share(round.generator_cpu_ns, decisions, 1),
            generator_permille: share(round.generator_cpu_ns, elapsed_ns, 1_000),
            latency: round.tally.latency.percentiles(),
            late_p99_ns: round.offered_per_s.map(|_| round.tally.lateness.percentiles().p99_ns),
        }
    }

    /// What a line of progress says.
    pub(in crate::cli::bench) fn headline(&self) -> String {
        match self.offered_per_s {
            None => format!("{} decisions/s", grouped(self.decisions_per_s)),
            Some(offered) => format!("p99 {} µs at {}/s", self.latency.p99_ns / 1_000, grouped(offered)),
        }
    }
}
