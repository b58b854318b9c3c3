//! `tallyring check`: one decision from the shell, of a key by explicit numbers, or of a request by the rules that are live.

mod numbers;
mod request;
mod verdict;

use std::process::ExitCode;

use clap::Args;

use self::request::Charge;
pub(super) use self::request::{RequestArgs, live_rules};
use super::access::AccessArgs;
use super::exit::{Exit, Failure, end};
use super::native::NativeArgs;

/// What `check` takes.
#[derive(Debug, Args)]
#[command(
    override_usage = "tallyring check KEY --limit N --window WINDOW [OPTIONS]\n       \
                      tallyring check [--client NAME] [--tier NAME] [--ip IP] [--method M] [--path P] [OPTIONS]",
    after_help = "Ends with 0 if allowed, 3 if denied, 2 if it makes no sense, 1 if it is refused, \
                  4 if the store cannot be reached."
)]
pub struct CheckArgs {
    #[command(flatten)]
    numbers: numbers::NumbersArgs,
    #[command(flatten)]
    request: RequestArgs,
    /// Units that it costs; 0 only looks
    #[arg(long, value_name = "N", default_value_t = 1)]
    cost: u64,
    /// How important the request is, by a name that rules give
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    priority: Option<String>,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    native: NativeArgs,
    #[command(flatten)]
    access: AccessArgs,
}

/// Asks for one decision.
pub fn run(args: &CheckArgs) -> ExitCode {
    end(check(args))
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    // What makes no sense is said before anybody is asked.
    let explicit = args.numbers.read(args.cost)?;
    let native = args.native.native(&args.access, "tallyring check")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::invalid)?;
    runtime.block_on(async {
        let store = native.open().await?;
        match explicit {
            Some(explicit) => numbers::decide(&store, &explicit, args.json).await,
            None => {
                let charge = Charge { cost: args.cost, priority: args.priority.as_deref() };
                request::decide(store, &args.request, charge, args.json).await
            }
        }
    })
}
