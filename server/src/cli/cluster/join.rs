//! `tallyring cluster join`: there is nothing that a running node could be told. It has counted under seeds of its own, which
//! another cluster does not share.

use clap::Args;

use super::super::exit::{Exit, Failure};

/// What `cluster join` takes: whatever somebody may expect it to.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// Where the cluster is
    #[arg(value_name = "HOST:PORT")]
    address: Option<String>,
}

pub(super) fn run(JoinArgs { address }: &JoinArgs) -> Result<Exit, Failure> {
    let address = address.as_deref().unwrap_or("HOST:4174");
    let how = format!("tallyring serve --node-id N --data DIR --join {address}");
    Err(Failure::usage(format!("a node joins when it is started, with a data folder of its own: {how}")))
}
