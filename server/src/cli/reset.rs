//! `tallyring reset`: a key has its whole budget again, or everything that the rules that are live count of somebody.

mod counters;

use std::process::ExitCode;

use axum::http::{Method, StatusCode};
use clap::Args;
use serde::Deserialize;

use super::access::AccessArgs;
use super::check::RequestArgs;
use super::exit::{Exit, Failure, end, say};
use super::native::NativeArgs;
use super::remote::{HttpArgs, RemoteError, escaped};

/// What `reset` takes.
#[derive(Debug, Args)]
#[command(
    override_usage = "tallyring reset KEY [OPTIONS]\n       \
                      tallyring reset [--client NAME] [--tenant NAME] [--ip IP] [--rule ID]… [OPTIONS]",
    after_help = "By the rules, what is not said may be anything: a client's counters are found whatever it has called. \
                  Counters that many share are reset only by --rule.\n\
                  Ends with 0 if something was reset, 5 if nothing was counted, 2 if it makes no sense, \
                  1 if it is refused, 4 if the node cannot be reached."
)]
pub struct ResetArgs {
    /// The raw key; without it the rules that are live say which counters
    key: Option<String>,
    #[command(flatten)]
    request: RequestArgs,
    /// Only the counters of this rule
    #[arg(long = "rule", value_name = "ID", conflicts_with = "key", help_heading = "By the rules that are live")]
    rules: Vec<String>,
    #[command(flatten)]
    http: HttpArgs,
    #[command(flatten)]
    native: NativeArgs,
    #[command(flatten)]
    access: AccessArgs,
}

/// Resets a key, or somebody's counters.
pub fn run(args: &ResetArgs) -> ExitCode {
    end(reset(args))
}

fn reset(args: &ResetArgs) -> Result<Exit, Failure> {
    match &args.key {
        Some(key) => reset_key(args, key),
        None if args.request.names_nobody() && args.rules.is_empty() => Err(Failure::usage(
            "reset: whose? a raw KEY, or --client, --tenant, --ip, --header, --attr or --rule, by the rules that are live",
        )),
        None => reset_counters(args),
    }
}

#[derive(Deserialize)]
struct Reset {
    found: bool,
}

fn reset_key(args: &ResetArgs, key: &str) -> Result<Exit, Failure> {
    if key.is_empty() {
        return Err(Failure::usage("key: is empty"));
    }
    let path = format!("/v1/keys/{}", escaped(key));
    let remote = args.http.remote(&args.access)?;
    let answer = remote.ask(Method::DELETE, &path, &[], "").map_err(failure)?;
    let Reset { found } =
        serde_json::from_str(&answer.body).map_err(|_| remote.stranger("it does not say what became of the reset"))?;
    if found {
        return Ok(say("the key has its whole budget again\n"));
    }
    say("nothing was counted under this key\n");
    Ok(Exit::Nothing)
}

fn failure(error: RemoteError) -> Failure {
    match error {
        RemoteError::Refused(StatusCode::BAD_REQUEST, refusal) => Failure::usage(refusal.detail),
        error => error.into(),
    }
}

fn reset_counters(args: &ResetArgs) -> Result<Exit, Failure> {
    let native = args.native.native(&args.access, "tallyring reset")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::invalid)?;
    runtime.block_on(async {
        let store = native.open().await?;
        counters::reset(&store, &args.request, &args.rules).await
    })
}
