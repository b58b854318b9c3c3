//! A file of rules, as commands read it: what is wrong with it is said a line each, as compilers do, so that editors can follow.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tallyring_protocol::bounds::RULES_BYTES_MAX;
use tallyring_protocol::rules::RuleSet;

use super::exit::{Exit, Failure};
use crate::config::RulesFile;
use crate::rules::text::{Fault, Faults, Text};
use crate::rules::visible::visible;
use crate::sys::file::{self, FileError};

/// Why there is no text of rules.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// What stands in it is no text, or too long.
    #[error("{}:{faults}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        faults: Faults,
    },
}

impl ReadError {
    /// What to say of it where a flag names the file: of what stands in it only the place is said, as editors follow it.
    pub(super) fn of_flag(&self, flag: &str) -> String {
        match self {
            ReadError::File { .. } => format!("{flag}: {self}"),
            ReadError::Text { .. } => self.to_string(),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        match error {
            ReadError::File { .. } => Failure::invalid(error),
            ReadError::Text { path, faults } => faulty(&path, &faults.0),
        }
    }
}

/// Reads a file of rules. What it says is not looked at.
///
/// # Errors
/// [`ReadError`]: it is no file, or no text.
pub(super) fn read(path: PathBuf) -> Result<RulesFile, ReadError> {
    let bytes = file::open(&path).and_then(read_all);
    into_text(path, bytes)
}

/// Reads rules that make sense; - is stdin. Warnings go to stderr.
///
/// # Errors
/// Everything that is wrong with them.
pub(super) fn load(path: PathBuf) -> Result<(RulesFile, RuleSet), Failure> {
    compiled(read_or_stdin(path)?)
}

/// The same for a file that a flag names.
///
/// # Errors
/// As [`load`]; a file that is not there is told with its flag.
pub(super) fn load_of_flag(flag: &str, path: PathBuf) -> Result<(RulesFile, RuleSet), Failure> {
    let file = read_or_stdin(path).map_err(|error| match &error {
        ReadError::File { .. } => Failure::invalid(error.of_flag(flag)),
        ReadError::Text { .. } => error.into(),
    })?;
    compiled(file)
}

fn read_or_stdin(path: PathBuf) -> Result<RulesFile, ReadError> {
    if path.as_os_str() == "-" { into_text("stdin".into(), read_all(std::io::stdin())) } else { read(path) }
}

fn compiled(file: RulesFile) -> Result<(RulesFile, RuleSet), Failure> {
    let (set, warnings) = file.text.compile_to_publish().map_err(|faults| faulty(&file.path, &faults.0))?;
    for warning in warnings {
        eprintln!("{}", visible(&format!("{}:{warning} (warning)", file.path.display())));
    }
    Ok((file, set))
}

/// What is wrong with a file.
pub(super) fn faulty(path: &Path, faults: &[Fault]) -> Failure {
    let mut said = String::new();
    for fault in faults {
        let newline = if said.is_empty() { "" } else { "\n" };
        write!(said, "{newline}{}:{fault}", path.display()).expect("writing to a string cannot fail");
    }
    Failure { exit: Exit::Invalid, said }
}

/// One byte more than a document may have: a text that is too long says so in its own words.
fn read_all(from: impl std::io::Read) -> Result<Vec<u8>, FileError> {
    file::read_all(from.take(RULES_BYTES_MAX as u64 + 1), RULES_BYTES_MAX + 1)
}

fn into_text(path: PathBuf, bytes: Result<Vec<u8>, FileError>) -> Result<RulesFile, ReadError> {
    match bytes.map(Text::read) {
        Ok(Ok(text)) => Ok(RulesFile { path, text }),
        Ok(Err(faults)) => Err(ReadError::Text { path, faults }),
        Err(source) => Err(ReadError::File { path, source }),
    }
}
