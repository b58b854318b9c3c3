//! `tallyring reset`: a key has its whole budget again.

use std::process::ExitCode;

use axum::http::{Method, StatusCode};
use clap::Args;
use serde::Deserialize;

use super::exit::{Exit, Failure, end, say};
use super::remote::{RemoteArgs, RemoteError, escaped};

/// What `reset` takes.
#[derive(Debug, Args)]
pub struct ResetArgs {
    /// The raw key
    key: String,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Deserialize)]
struct Reset {
    found: bool,
}

/// Resets a key.
pub fn run(args: &ResetArgs) -> ExitCode {
    end(reset(args))
}

fn reset(args: &ResetArgs) -> Result<Exit, Failure> {
    let path = format!("/v1/keys/{}", escaped(&args.key));
    let answer = args.remote.remote()?.ask(Method::DELETE, &path, &[], "").map_err(failure)?;
    let Reset { found } = serde_json::from_str(&answer.body)
        .map_err(|_| Failure::unreachable("the node does not say what became of the reset"))?;
    Ok(say(if found { "the key has its whole budget again\n" } else { "nothing was counted under this key\n" }))
}

fn failure(error: RemoteError) -> Failure {
    match error {
        RemoteError::Refused(StatusCode::BAD_REQUEST, refusal) => Failure::usage(refusal.detail),
        error => error.into(),
    }
}
