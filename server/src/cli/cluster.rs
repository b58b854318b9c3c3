//! `tallyring cluster`: who is in it, and changes of that.

mod change;
mod join;
mod recover;
mod status;

use std::process::ExitCode;

use clap::Subcommand;

use super::exit::end;

/// What `cluster` can do.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Show the members, who leads, and how the keys are shared
    Status(status::StatusArgs),
    /// Say how a node joins: it does so when it is started
    Join(join::JoinArgs),
    /// Have a member leave for good; it can be stopped then
    Leave(change::LeaveArgs),
    /// Found the cluster anew from one survivor's data folder, when the majority is gone for good
    Recover(recover::RecoverArgs),
    /// Change a member's share of the keys
    Weight(change::WeightArgs),
}

/// Runs a command on a cluster.
pub fn run(command: ClusterCommand) -> ExitCode {
    end(match command {
        ClusterCommand::Status(args) => status::run(&args),
        ClusterCommand::Join(args) => join::run(&args),
        ClusterCommand::Leave(args) => change::leave(&args),
        ClusterCommand::Recover(args) => recover::run(&args),
        ClusterCommand::Weight(args) => change::weight(&args),
    })
}
