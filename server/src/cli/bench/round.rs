//! A round: one target is asked for a while, and both sides' processor time is read before and after.

use std::time::{Duration, Instant};

use super::process;
use super::tally::Tally;
use super::target::Target;

/// What happened in a round.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) tally: Tally,
    pub(super) elapsed: Duration,
    /// Calls a second that were to be said, in an open loop.
    pub(super) offered_per_s: Option<u64>,
    /// Processor time of the server's process, in nanoseconds, where it can be seen.
    pub(super) server_cpu_ns: Option<u64>,
    /// Processor time of this process, in nanoseconds.
    pub(super) generator_cpu_ns: u64,
}

/// Reads clocks when it is made; [`Stopwatch::stop`] reads them again.
#[derive(Debug)]
pub(super) struct Stopwatch {
    server: Option<u32>,
    server_cpu_ns: Option<u64>,
    generator_cpu_ns: u64,
    pub(super) started: Instant,
}

impl Stopwatch {
    pub(super) fn start(target: &Target) -> Stopwatch {
        Stopwatch {
            server: target.pid,
            server_cpu_ns: target.pid.and_then(process::cpu_ns),
            generator_cpu_ns: generator_cpu_ns(),
            started: Instant::now(),
        }
    }

    pub(super) fn stop(self, tally: Tally, offered_per_s: Option<u64>) -> Round {
        let elapsed = self.started.elapsed();
        let server_cpu_ns = self.server.and_then(process::cpu_ns).zip(self.server_cpu_ns);
        Round {
            tally,
            elapsed,
            offered_per_s,
            server_cpu_ns: server_cpu_ns.map(|(after, before)| after.saturating_sub(before)),
            generator_cpu_ns: generator_cpu_ns().saturating_sub(self.generator_cpu_ns),
        }
    }
}

fn generator_cpu_ns() -> u64 {
    process::cpu_ns(std::process::id()).unwrap_or(0)
}
