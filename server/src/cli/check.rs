//! `tallyring check`: one decision from the shell, of a key by explicit numbers, or of a request by the rules that are live.

mod numbers;
mod request;
mod verdict;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tallyring_client::{Store, StoreConfig, StoreError};

use super::exit::{Exit, Failure, end};
use super::remote::TokenArgs;

/// How long the store may take to be reached, and then to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What `check` takes.
#[derive(Debug, Args)]
#[command(
    override_usage = "tallyring check KEY --limit N --window WINDOW [OPTIONS]\n       \
                      tallyring check [--client NAME] [--tier NAME] [--ip IP] [--method M] [--path P] [OPTIONS]",
    after_help = "Ends with 0 if allowed, 3 if denied, 2 if it makes no sense, 4 if the store cannot be reached."
)]
pub struct CheckArgs {
    #[command(flatten)]
    numbers: numbers::NumbersArgs,
    #[command(flatten)]
    request: request::RequestArgs,
    /// Units that it costs; 0 only looks
    #[arg(long, value_name = "N", default_value_t = 1)]
    cost: u64,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
    /// Where the store speaks the native protocol
    #[arg(long, env = "TALLYRING_NATIVE_ADDR", value_name = "HOST:PORT", default_value = "127.0.0.1:4170")]
    native_addr: String,
    #[command(flatten)]
    token: TokenArgs,
}

/// Asks for one decision.
pub fn run(args: &CheckArgs) -> ExitCode {
    end(check(args))
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    // What makes no sense is said before anybody is asked.
    let explicit = args.numbers.read(args.cost)?;
    let token = args.token.read()?.unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::invalid)?;
    runtime.block_on(async {
        let store = open(args.native_addr.clone(), token).await?;
        match explicit {
            Some(explicit) => numbers::decide(&store, &explicit, args.json).await,
            None => request::decide(store, &args.request, args.cost, args.json).await,
        }
    })
}

async fn open(address: String, token: String) -> Result<Store, Failure> {
    let seeds = vec![address.clone()];
    let (name, deadline) = ("tallyring check".to_owned(), PATIENCE);
    let store = Store::open(StoreConfig { seeds, token, name, deadline, ..StoreConfig::default() });
    if store.ready(PATIENCE).await {
        Ok(store)
    } else {
        Err(Failure::unreachable(format!("{address}: no store answers")))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::Invalid { .. } => Failure::usage(error),
            _ => Failure::unreachable(error),
        }
    }
}
