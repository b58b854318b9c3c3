//! The commands of the binary.

pub mod serve;

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
}

impl Cli {
    /// Runs the command that was asked for.
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Serve(args) => serve::run(*args),
        }
    }
}

/// One line on stderr and exit code 1.
fn fail(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("tallyring: {error}");
    ExitCode::FAILURE
}
