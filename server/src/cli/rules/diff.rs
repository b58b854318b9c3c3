//! `tallyring rules diff`: what a push would change, as a unified diff.

use std::path::PathBuf;

use clap::Args;
use similar::TextDiff;

use super::super::exit::{Exit, Failure, say};
use super::super::remote::RemoteArgs;
use super::super::rules_file;
use super::live;
use crate::rules::text::Text;
use crate::rules::visible::visible;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// What `rules diff` takes.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The file, TOML or JSON; - is stdin
    file: PathBuf,
    /// End with 1 if there is a difference
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: DiffArgs) -> Result<Exit, Failure> {
    let (file, _) = rules_file::load(args.file)?;
    let live = live::ask(&args.remote.remote()?, None)?;
    let of_live = in_syntax_of(&live.text, &file.text)?;
    let diff = unified(&of_live, &file.text, &format!("live, version {}", live.version), &file.path.to_string_lossy());
    let differs = !diff.is_empty();
    say(visible(&diff));
    Ok(if args.exit_code && differs { Exit::Invalid } else { Exit::Good })
}

/// The text, written in what `other` is written in: else every line would differ.
fn in_syntax_of(text: &Text, other: &Text) -> Result<Text, Failure> {
    if text.as_str().is_empty() || text.syntax() == other.syntax() {
        return Ok(text.clone());
    }
    let (set, _) = text.compile().map_err(|faults| Failure::invalid(format!("what is live: {faults}")))?;
    Ok(Text::of(set.document(), other.syntax()))
}

fn unified(old: &Text, new: &Text, old_name: &str, new_name: &str) -> String {
    let diff = TextDiff::from_lines(old.as_str(), new.as_str());
    diff.unified_diff().context_radius(CONTEXT).header(old_name, new_name).to_string()
}
