//! `tallyring cluster leave` and `tallyring cluster weight`: changes of the members that all nodes agree on.

use axum::http::{Method, header};
use clap::Args;

use super::super::exit::{Exit, Failure, say};
use super::super::remote::RemoteArgs;
use crate::config::NodeNumber;

/// What `cluster leave` takes.
#[derive(Debug, Args)]
pub struct LeaveArgs {
    /// The number of the member
    node: NodeNumber,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// What `cluster weight` takes.
#[derive(Debug, Args)]
pub struct WeightArgs {
    /// The number of the member
    node: NodeNumber,
    /// Its share relative to the others', 0 ..= 100
    weight: u32,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn leave(LeaveArgs { node, remote }: &LeaveArgs) -> Result<Exit, Failure> {
    let id = node.id().0;
    remote.remote()?.ask(Method::DELETE, &place(*node), &[], "")?;
    Ok(say(format!(
        "node {id} is no member any more: stop it; to come back, it needs a new --data folder and --join\n"
    )))
}

pub(super) fn weight(WeightArgs { node, weight, remote }: &WeightArgs) -> Result<Exit, Failure> {
    let body = format!("{{\"weight\":{weight}}}");
    let headers = [(header::CONTENT_TYPE, "application/json")];
    remote.remote()?.ask(Method::PUT, &place(*node), &headers, &body)?;
    Ok(say(format!("node {} has the weight {weight} from now on\n", node.id().0)))
}

fn place(node: NodeNumber) -> String {
    format!("/v1/cluster/members/{}", node.id().0)
}
