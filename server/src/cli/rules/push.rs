//! `tallyring rules push`: over the version that is live when it begins, or that is named; never over one in between.

use std::path::{Path, PathBuf};

use axum::http::{Method, StatusCode, header};
use clap::Args;
use serde::Deserialize;

use super::super::exit::{Exit, Failure, say};
use super::super::remote::{Remote, RemoteArgs, RemoteError, escaped};
use super::super::rules_file;
use super::author::AuthorArgs;
use super::live;
use super::live::Live;
use crate::rules::text::{Fault, Text};
use crate::rules::visible::visible;

/// What `rules push` takes.
#[derive(Debug, Args)]
pub struct PushArgs {
    /// The file, TOML or JSON; - is stdin
    file: PathBuf,
    /// Only if this version is live: the one that the file was made from
    #[arg(long, value_name = "VERSION")]
    over: Option<u64>,
    #[command(flatten)]
    author: AuthorArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// What a node answers to a push.
#[derive(Deserialize)]
struct Published {
    version: u64,
    changed: bool,
    warnings: Vec<Fault>,
}

pub(super) fn run(args: PushArgs) -> Result<Exit, Failure> {
    let (file, _) = rules_file::load(args.file)?;
    let remote = args.remote.remote()?;
    let live = live::ask(&remote, None)?;
    match args.over {
        Some(over) if over > live.version => {
            let newest = live.version;
            return Err(Failure::invalid(format!("over: version {newest} is live, and there is no version {over}")));
        }
        Some(over) if over < live.version => {
            return Err(overtaken(&format!("version {} is live, not {over}", live.version)));
        }
        _ => {}
    }
    let comment = &args.author.comment;
    publish(&remote, &live, &file.text, &args.author.name(), comment, Some(&file.path)).map(say)
}

/// Publishes a text over what is live; what to say of it. `path` is where the text stands, if its author can mend it.
pub(super) fn publish(
    remote: &Remote,
    live: &Live,
    text: &Text,
    author: &str,
    comment: &str,
    path: Option<&Path>,
) -> Result<String, Failure> {
    let target = format!("/v1/rules?author={}&comment={}", escaped(author), escaped(comment));
    let answer = remote.ask(Method::PUT, &target, &[(header::IF_MATCH, &live.etag)], text.as_str());
    let answer = answer.map_err(|error| failure(error, path))?;
    let published: Published =
        serde_json::from_str(&answer.body).map_err(|_| remote.stranger("it does not say what became of the push"))?;
    for warning in path.is_none().then_some(published.warnings).into_iter().flatten() {
        eprintln!("{}", visible(&format!("tallyring: {warning} (warning)")));
    }
    let Published { version, changed, .. } = published;
    let already = if changed { "" } else { " already: nothing has changed" };
    Ok(format!("version {version} is live{already}\n"))
}

fn failure(error: RemoteError, path: Option<&Path>) -> Failure {
    match (error, path) {
        (RemoteError::Refused(StatusCode::PRECONDITION_FAILED, refusal), _) => overtaken(&refusal.detail),
        (RemoteError::Refused(_, refusal), Some(path)) if !refusal.errors.is_empty() => {
            rules_file::faulty(path, &refusal.errors)
        }
        (error, _) => error.into(),
    }
}

fn overtaken(what: &str) -> Failure {
    Failure::invalid(format!("{what}: somebody has pushed meanwhile; look at `tallyring rules diff`, then push again"))
}
