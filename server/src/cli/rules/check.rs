//! `tallyring rules check`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tallyring_protocol::rules::RuleSet;

use super::super::exit::{Exit, Failure, say};
use super::super::rules_file;
use crate::config::RulesFile;
use crate::rules::text::Fault;

/// What `rules check` takes.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The file, TOML or JSON
    file: PathBuf,
}

pub(super) fn run(args: CheckArgs) -> Result<Exit, Failure> {
    let (file, set) = read(args.file)?;
    let (rules, make) = match set.rules().len() {
        1 => ("1 rule".to_owned(), "makes"),
        number => (format!("{number} rules"), "make"),
    };
    Ok(say(format!("{}: {rules} {make} sense\n", file.path.display())))
}

/// Reads a file that makes sense; warnings go to stderr.
pub(super) fn read(path: PathBuf) -> Result<(RulesFile, RuleSet), Failure> {
    let file = rules_file::read(path).map_err(Failure::invalid)?;
    let (set, warnings) = file.text.compile().map_err(|faults| faulty(&file.path, &faults.0))?;
    for warning in warnings {
        eprintln!("{}:{warning} (warning)", file.path.display());
    }
    Ok((file, set))
}

/// What is wrong with a file: a line each, as compilers say it, so that editors can follow.
pub(super) fn faulty(path: &Path, faults: &[Fault]) -> Failure {
    let mut said = String::new();
    for fault in faults {
        let newline = if said.is_empty() { "" } else { "\n" };
        write!(said, "{newline}{}:{fault}", path.display()).expect("writing to a string cannot fail");
    }
    Failure { exit: Exit::Invalid, said }
}
