//! What the command line asks for, and what becomes of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::target::TargetUrl;

/// Most connections of a round.
const CONNECTIONS_MAX: i64 = 10_000;

/// Most calls of a connection that are under way at once.
const PIPELINE_MAX: i64 = 4_096;

/// Most accounts: what fits the memory of a test machine.
const KEYS_MAX: i64 = 100_000_000;

/// Most rounds of a target.
const ROUNDS_MAX: i64 = 1_000;

/// Longest round, in seconds.
const SECONDS_MAX: i64 = 3_600;

/// Measure decisions per second, their cost and their exactness, beside a Redis in the same run
#[derive(Clone, Debug, clap::Args)]
pub struct BenchArgs {
    /// Whom to measure: native://, redis://, resp://, client:// or floor://HOST[:PORT]. Without any, the run starts a
    /// store, a redis-server and a floor of its own
    #[arg(value_name = "URL")]
    targets: Vec<TargetUrl>,
    /// Connections to a target
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=CONNECTIONS_MAX))]
    connections: u32,
    /// Calls that a connection sends at once before it waits; a list measures each
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 16, 64], value_parser = clap::value_parser!(u32).range(1..=PIPELINE_MAX))]
    pipeline: Vec<u32>,
    /// Concurrent callers of a client:// target
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=CONNECTIONS_MAX))]
    callers: u32,
    /// Accounts, asked for at random [default: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=KEYS_MAX))]
    keys: Option<u32>,
    /// Rounds of each target, alternating [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=ROUNDS_MAX))]
    rounds: Option<u32>,
    /// Seconds of a round [default: 3]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=SECONDS_MAX))]
    seconds: Option<u32>,
    /// A smoke test of a few seconds: fewer keys, shorter rounds; its figures mean little
    #[arg(long)]
    quick: bool,
    /// Measure the first target twice under two names: how far two equal things lie apart here
    #[arg(long)]
    aa: bool,
    /// Also write every round to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Secret that native://, resp:// and client:// targets ask for
    #[arg(long, env = "TALLYRING_TOKEN", value_name = "TOKEN", default_value = "", hide_env_values = true)]
    token: String,
    /// Also measure targets that are not on this machine
    #[arg(long)]
    yes: bool,
    /// Be the floor
    #[arg(long, value_name = "IP:PORT", hide = true)]
    serve_floor: Option<SocketAddr>,
}

/// What a run does: every number is settled.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Plan {
    pub(super) connections: u32,
    pub(super) pipelines: Vec<u32>,
    pub(super) callers: u32,
    pub(super) keys: u32,
    pub(super) rounds: u32,
    pub(super) round_ms: u64,
    #[serde(skip)]
    pub(super) targets: Vec<TargetUrl>,
    pub(super) aa: bool,
    #[serde(skip)]
    pub(super) json: Option<PathBuf>,
    #[serde(skip)]
    pub(super) token: String,
    #[serde(skip)]
    pub(super) remote_allowed: bool,
}

impl BenchArgs {
    /// Where to serve the floor, if that is all that is wanted.
    pub(super) fn floor(&self) -> Option<SocketAddr> {
        self.serve_floor
    }

    /// The run: what was asked for, else the defaults, which `--quick` makes small.
    pub(super) fn plan(self) -> Plan {
        let (keys, rounds, round_ms) = if self.quick { (10_000, 2, 300) } else { (1_000_000, 5, 3_000) };
        Plan {
            connections: self.connections,
            pipelines: self.pipeline,
            callers: self.callers,
            keys: self.keys.unwrap_or(keys),
            rounds: self.rounds.unwrap_or(rounds),
            round_ms: self.seconds.map_or(round_ms, |seconds| u64::from(seconds) * 1_000),
            targets: self.targets,
            aa: self.aa,
            json: self.json,
            token: self.token,
            remote_allowed: self.yes,
        }
    }
}

impl Plan {
    pub(super) fn round(&self) -> Duration {
        Duration::from_millis(self.round_ms)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        bench: BenchArgs,
    }

    fn plan(line: &str) -> Result<Plan, clap::Error> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Program::try_parse_from(words).map(|program| program.bench.plan())
    }

    #[test]
    fn without_arguments_the_run_is_the_one_that_is_published() {
        let plan = plan("").unwrap();
        assert_eq!((plan.connections, plan.keys, plan.rounds, plan.round_ms), (50, 1_000_000, 5, 3_000));
        assert_eq!(plan.pipelines, [1, 16, 64]);
        assert!(plan.targets.is_empty());
    }

    #[test]
    fn quick_changes_only_what_was_not_said() {
        let plan = plan("--quick --keys 77 --pipeline 8,9").unwrap();
        assert_eq!((plan.keys, plan.rounds, plan.round_ms), (77, 2, 300));
        assert_eq!(plan.pipelines, [8, 9]);
    }

    #[test]
    fn an_impossible_number_is_refused() {
        for line in ["--connections 0", "--pipeline 0", "--keys 0", "--rounds 0", "--seconds 0", "--pipeline 5000"] {
            assert!(plan(line).is_err(), "{line}");
        }
        assert!(plan("http://localhost").is_err());
    }
}
