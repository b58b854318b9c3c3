//! `tallyring rules check`.

use std::path::PathBuf;

use clap::Args;

use super::super::exit::{Exit, Failure, say};
use super::super::rules_file;

/// What `rules check` takes.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The file, TOML or JSON; - is stdin
    file: PathBuf,
}

pub(super) fn run(args: CheckArgs) -> Result<Exit, Failure> {
    let (file, set) = rules_file::load(args.file)?;
    let (rules, make) = match set.rules().len() {
        1 => ("1 rule".to_owned(), "makes"),
        number => (format!("{number} rules"), "make"),
    };
    Ok(say(format!("{}: {rules} {make} sense\n", file.path.display())))
}
