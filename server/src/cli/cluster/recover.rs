//! `tallyring cluster recover`: when the majority is gone for good, from the data folder of a survivor that does not run.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::super::exit::{Exit, Failure, say};
use crate::cluster::control::raft::store::{FILE, Store};
use crate::cluster::control::recover::Remains;
use crate::data::Data;
use crate::sys::clock::Clock;

/// What `cluster recover` takes.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The data folder of a member that does not run
    #[arg(long, env = "TALLYRING_DATA", value_name = "DIR")]
    data: PathBuf,
    /// Do it; without this, only say what would be done
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: &RecoverArgs) -> Result<Exit, Failure> {
    if !args.data.join(FILE).exists() {
        return Err(Failure::invalid(format!(
            "data: {}: no node was in a cluster with this folder",
            args.data.display()
        )));
    }
    let data = Data::open(&args.data).map_err(Failure::invalid)?;
    let store = Store::open(data.folder()).map_err(Failure::invalid)?;
    let remains = Remains::examine(store).map_err(Failure::invalid)?;
    let (report, node) = (report(&remains), remains.node().0);
    if !args.yes {
        say(report);
        return Err(Failure::invalid("nothing has changed: say --yes to go on"));
    }
    remains.found_anew(Clock::start().now_us()).map_err(Failure::invalid)?;
    Ok(say(format!("{report}\ndone: start node {node}, then the others with new --data folders and --join\n")))
}

fn report(remains: &Remains) -> String {
    let state = remains.state();
    let others: Vec<String> =
        state.members().keys().filter(|id| **id != remains.node()).map(|id| id.0.to_string()).collect();
    let (node, (term, entries), committed) = (remains.node().0, remains.end(), remains.committed());
    let cluster = state.cluster().map(|cluster| cluster.id.to_string()).unwrap_or_default();
    let mut text = String::new();
    write!(
        text,
        "node      {node} of cluster {cluster}\n\
         without   {}\n\
         log       {entries} entries, the last of term {term}; a majority is known to have held {committed}\n\
         rules     version {}\n\n\
         Node {node} becomes the only member of a cluster of a new name, with these rules and the same seeds. What the others have\n\
         agreed on without it is lost: of several survivors, take the one with the greatest term, and of those the one with the\n\
         most entries. The others must not run again with their data folders.\n",
        others.join(", "),
        state.rules().version().version,
    )
    .expect("writing to a string cannot fail");
    text
}
