//! `tallyring rules pull`.

use clap::Args;
use tallyring_protocol::rules::Syntax;

use super::super::exit::{Exit, Failure, say};
use super::super::remote::RemoteArgs;
use super::live;

/// What `rules pull` takes.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// As JSON, whatever they were written in
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &PullArgs) -> Result<Exit, Failure> {
    let live = live::ask(&args.remote.remote()?, args.json.then_some(Syntax::Json))?;
    eprintln!("version {}", live.version);
    let text = live.text.as_str();
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(say(format!("{text}{newline}")))
}
