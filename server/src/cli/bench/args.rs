//! What the command line asks for.

use std::net::SocketAddr;
use std::path::PathBuf;

use tallyring_engine::Algorithm;

use super::mix::Mix;
use super::plan::Plan;
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

/// Highest fixed rate, in calls a second.
const RATE_MAX: u64 = 1_000_000_000;

/// Measure decisions per second, their cost, their latency and their exactness, beside a Redis in the same run
#[derive(Clone, Debug, clap::Args)]
pub struct BenchArgs {
    /// Whom to measure: native://, redis://, resp://, http://, client://, limiter:// or floor://HOST[:PORT]. Without any,
    /// the run starts a store, a redis-server and a floor of its own, and measures the store twice, to show the noise
    #[arg(value_name = "URL")]
    targets: Vec<TargetUrl>,
    /// Connections to a target
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=CONNECTIONS_MAX))]
    connections: u32,
    /// Calls that a connection sends at once before it waits; a list measures each [default: 1,16,64]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=PIPELINE_MAX))]
    pipeline: Vec<u32>,
    /// Concurrent callers of a client:// or limiter:// target
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=CONNECTIONS_MAX))]
    callers: u32,
    /// How keys are counted; a list measures each. Redis has scripts for token_bucket, sliding_counter and fixed_window
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values = ["token_bucket", "sliding_counter"], value_parser = budget_algorithm)]
    algorithm: Vec<Algorithm>,
    /// Accounts that are asked for [default: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=KEYS_MAX))]
    keys: Option<u32>,
    /// Which of them are asked for: all alike, by Zipf's law, or one alone
    #[arg(long, value_enum, default_value = "uniform")]
    mix: Mix,
    /// Rounds of each target, alternating [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=ROUNDS_MAX))]
    rounds: Option<u32>,
    /// Seconds of a round [default: 3]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=SECONDS_MAX))]
    seconds: Option<u32>,
    /// Then ask at a fixed rate and measure from the moment a call was due: these per cents of what each target reached
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "25,50,75,90", value_parser = clap::value_parser!(u32).range(1..=100))]
    open_loop: Vec<u32>,
    /// Then ask every target at this rate, in calls a second
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=RATE_MAX))]
    rate: Vec<u64>,
    /// Then let each target grow by so many new keys, at half of what it reached (long)
    #[arg(long, value_name = "KEYS", num_args = 0..=1, require_equals = true, default_missing_value = "10000000", value_parser = clap::value_parser!(u32).range(1..=KEYS_MAX))]
    grow: Option<u32>,
    /// Then let so many keys expire at one instant, at half of what each target reached (a minute a round and target)
    #[arg(long, value_name = "KEYS", num_args = 0..=1, require_equals = true, default_missing_value = "1000000", value_parser = clap::value_parser!(u32).range(1..=KEYS_MAX))]
    expire: Option<u32>,
    /// Then count the memory of a key, in servers that have so many (long)
    #[arg(long, value_name = "KEYS,…", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "1000000,10000000", value_parser = clap::value_parser!(u32).range(1..=KEYS_MAX))]
    memory: Vec<u32>,
    /// A smoke test of some seconds: fewer keys, one short round; its figures mean little
    #[arg(long)]
    quick: bool,
    /// Measure the first target twice under two names: how far two equal things lie apart here
    #[arg(long)]
    aa: bool,
    /// Also write every round to this file, for programs
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write a page with pictures to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the table in Markdown
    #[arg(long)]
    markdown: bool,
    /// Secret that tallyring's doors ask for
    #[arg(long, env = "TALLYRING_TOKEN", value_name = "TOKEN", default_value = "", hide_env_values = true)]
    token: String,
    /// Also measure targets that are not on this machine
    #[arg(long)]
    yes: bool,
    /// Be the floor
    #[arg(long, value_name = "IP:PORT", hide = true)]
    serve_floor: Option<SocketAddr>,
}

/// An algorithm that keeps a budget: a benchmark holds no slots.
fn budget_algorithm(name: &str) -> Result<Algorithm, String> {
    let algorithm = Algorithm::from_name(name).filter(|algorithm| *algorithm != Algorithm::Concurrency);
    algorithm.ok_or_else(|| {
        let budgets = Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Concurrency);
        format!("one of {}", budgets.map(Algorithm::name).collect::<Vec<_>>().join(", "))
    })
}

impl BenchArgs {
    /// Where to serve the floor, if that is all that is wanted.
    pub(super) fn floor(&self) -> Option<SocketAddr> {
        self.serve_floor
    }

    /// The run: what was asked for, else the defaults, which `--quick` makes small.
    pub(super) fn plan(self) -> Plan {
        let (keys, rounds, round_ms) = if self.quick { (10_000, 1, 150) } else { (1_000_000, 5, 3_000) };
        let pipelines = if self.quick { vec![1, 64] } else { vec![1, 16, 64] };
        Plan {
            connections: self.connections,
            pipelines: if self.pipeline.is_empty() { pipelines } else { self.pipeline },
            callers: self.callers,
            algorithms: self.algorithm,
            keys: self.keys.unwrap_or(keys),
            mix: self.mix,
            rounds: self.rounds.unwrap_or(rounds),
            round_ms: self.seconds.map_or(round_ms, |seconds| u64::from(seconds) * 1_000),
            percents: self.open_loop,
            rates: self.rate,
            grow: self.grow,
            expire: self.expire,
            memory: self.memory,
            aa: self.aa || self.targets.is_empty(),
            targets: self.targets,
            json: self.json,
            html: self.html,
            markdown: self.markdown,
            token: self.token,
            remote_allowed: self.yes,
        }
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
        assert_eq!(plan.algorithms, [Algorithm::TokenBucket, Algorithm::SlidingCounter]);
        assert!(plan.targets.is_empty() && plan.aa);
        assert!(plan.percents.is_empty() && plan.memory.is_empty() && plan.grow.is_none() && plan.expire.is_none());
    }

    #[test]
    fn quick_changes_only_what_was_not_said() {
        let plan = plan("--quick --keys 77 --pipeline 8,9").unwrap();
        assert_eq!((plan.keys, plan.rounds, plan.round_ms), (77, 1, 150));
        assert_eq!(plan.pipelines, [8, 9]);
    }

    #[test]
    fn what_comes_after_the_closed_loop_has_defaults_of_its_own() {
        let bare = plan("--open-loop --grow --expire --memory").unwrap();
        assert_eq!(bare.percents, [25, 50, 75, 90]);
        assert_eq!((bare.grow, bare.expire), (Some(10_000_000), Some(1_000_000)));
        assert_eq!(bare.memory, [1_000_000, 10_000_000]);
        let said = plan("--open-loop=50 --grow=7 --expire=8 --memory=9,10 --rate 1000,2000").unwrap();
        assert_eq!((said.percents, said.memory, said.rates), (vec![50], vec![9, 10], vec![1_000, 2_000]));
        assert_eq!((said.grow, said.expire), (Some(7), Some(8)));
    }

    #[test]
    fn a_named_target_is_measured_once() {
        assert!(!plan("native://localhost").unwrap().aa);
        assert!(plan("native://localhost --aa").unwrap().aa);
    }

    #[test]
    fn an_impossible_number_or_name_is_refused() {
        for line in [
            "--connections 0",
            "--pipeline 0",
            "--pipeline 5000",
            "--keys 0",
            "--rounds 0",
            "--seconds 0",
            "--callers 0",
            "--open-loop=0",
            "--open-loop=101",
            "--open-loop=x",
            "--rate 0",
            "--grow=0",
            "--expire=100000001",
            "--memory=0",
            "--mix zipfian",
            "--algorithm concurrency",
            "--algorithm tokenbucket",
            "https://localhost",
        ] {
            assert!(plan(line).is_err(), "{line}");
        }
        let error = plan("--algorithm x").unwrap_err().to_string();
        assert!(
            error.contains("one of token_bucket, leaky_bucket, fixed_window, sliding_log, sliding_counter"),
            "{error}"
        );
    }
}
