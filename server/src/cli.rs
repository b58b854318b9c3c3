//! The commands of the binary.

mod access;
pub mod bench;
mod chart;
pub mod check;
mod child;
pub mod cluster;
mod columns;
#[cfg(not(feature = "sim"))]
pub mod demo;
mod environment;
mod exit;
mod instant;
mod link;
mod native;
mod number;
mod page;
mod remote;
pub mod replay;
pub mod reset;
pub mod rules;
mod rules_file;
pub mod serve;
pub mod trace;
mod trouble;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A rate-limit counter store: exact shared counts for many gateways, one round trip a decision.
#[derive(Debug, Parser)]
#[command(name = "tallyring", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a node: without flags a cluster of one on loopback, in memory, one shard a core.
    Serve(Box<serve::ServeArgs>),
    /// Run a cluster and a gateway on this machine, to try with curl.
    #[cfg(not(feature = "sim"))]
    Demo(demo::DemoArgs),
    /// Validate, publish, read and compare rules; look back, go back.
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    /// Show who is in the cluster; change it.
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// Ask for one decision.
    Check(Box<check::CheckArgs>),
    /// Give a key, or a customer under the rules that are live, the whole budget back.
    Reset(Box<reset::ResetArgs>),
    /// Measure decisions a second, CPU and latency, beside Redis in the same run.
    Bench(bench::BenchArgs),
    /// Say what rules would have done to an access log.
    Replay(replay::ReplayArgs),
    /// Read events as JSON lines on stdin, print a decision for each: the serving engine on a virtual clock.
    Trace,
}

impl Cli {
    /// Runs the command that was asked for.
    pub fn run(self) -> ExitCode {
        if !matches!(self.command, Command::Serve(_)) {
            // A node says it in its log.
            environment::mistakes().iter().for_each(|mistake| eprintln!("tallyring: warning: {mistake}"));
        }
        match self.command {
            Command::Serve(args) => serve::run(*args),
            #[cfg(not(feature = "sim"))]
            Command::Demo(args) => demo::run(&args),
            Command::Rules(command) => rules::run(command),
            Command::Cluster(command) => cluster::run(command),
            Command::Check(args) => check::run(&args),
            Command::Reset(args) => reset::run(&args),
            Command::Bench(args) => bench::run(args),
            Command::Replay(args) => replay::run(&args),
            Command::Trace => run_trace(),
        }
    }
}

fn run_trace() -> ExitCode {
    match trace::run(std::io::stdin().lock(), std::io::BufWriter::new(std::io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has had enough of it.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(format_args!("trace: {error}")),
    }
}

/// One line on stderr and exit code 1.
fn fail(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("tallyring: {error}");
    ExitCode::FAILURE
}
