//! `tallyring rules rollback`: an old text becomes a new version, so that the way back is in the history too.

use axum::http::Method;
use clap::Args;

use super::super::exit::{Exit, Failure, say};
use super::super::remote::RemoteArgs;
use super::author::AuthorArgs;
use super::{live, push};

/// What `rules rollback` takes.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// The version whose rules are wanted back
    version: u64,
    #[command(flatten)]
    author: AuthorArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &RollbackArgs) -> Result<Exit, Failure> {
    let remote = args.remote.remote()?;
    let live = live::ask(&remote, None)?;
    let old = remote.ask(Method::GET, &format!("/v1/rules/history/{}", args.version), &[], "")?;
    let back = format!("back to version {}", args.version);
    let comment = if args.author.comment.is_empty() { back } else { format!("{back}: {}", args.author.comment) };
    push::publish(&remote, &live, &old.body.into(), &args.author.name(), &comment, None).map(say)
}
