//! A file of rules, as commands read it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use tallyring_protocol::bounds::RULES_BYTES_MAX;

use crate::config::RulesFile;

/// Reads a file of rules. What stands in it is not looked at.
///
/// # Errors
/// One line: the file and why it cannot be read.
pub(super) fn read(path: PathBuf) -> Result<RulesFile, String> {
    let text = read_text(&path).map_err(|reason| format!("{}: {reason}", path.display()))?;
    Ok(RulesFile { path, text: text.into() })
}

fn read_text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(RULES_BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() > RULES_BYTES_MAX {
        return Err(format!("longer than a rules document may be, {RULES_BYTES_MAX} bytes"));
    }
    Ok(text)
}
