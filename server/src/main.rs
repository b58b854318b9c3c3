//! The tallyring binary: flags in, exit code out.

use clap::Parser;
use tallyring::cli::Cli;

fn main() -> std::process::ExitCode {
    Cli::parse().run()
}
