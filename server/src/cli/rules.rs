//! `tallyring rules`: validate a file, publish it, read what is live, compare, look back, go back.

mod author;
mod check;
mod diff;
mod history;
mod live;
mod pull;
mod push;
mod rollback;

use std::process::ExitCode;

use clap::Subcommand;

use super::exit::end;

/// What `rules` can do.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// Say what is wrong with a file, or nothing; no node is asked
    Check(check::CheckArgs),
    /// Publish a file: every connected gateway enforces it at once
    Push(push::PushArgs),
    /// Print the rules that are live, as their author wrote them
    Pull(pull::PullArgs),
    /// Show what a push of a file would change
    Diff(diff::DiffArgs),
    /// List who published which version when, and why
    History(history::HistoryArgs),
    /// Publish the rules of an earlier version again
    Rollback(rollback::RollbackArgs),
}

/// Runs a command on rules.
pub fn run(command: RulesCommand) -> ExitCode {
    end(match command {
        RulesCommand::Check(args) => check::run(args),
        RulesCommand::Push(args) => push::run(args),
        RulesCommand::Pull(args) => pull::run(&args),
        RulesCommand::Diff(args) => diff::run(args),
        RulesCommand::History(args) => history::run(&args),
        RulesCommand::Rollback(args) => rollback::run(&args),
    })
}
