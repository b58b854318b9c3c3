//! The report as files.

use std::fs;
use std::path::Path;

use super::Report;
use crate::cli::bench::error::BenchError;

/// Everything, nothing rounded for the eye.
pub(super) fn write_json(report: &Report, path: &Path) -> Result<(), BenchError> {
    let json = serde_json::to_string_pretty(report).expect("a report has no key that is not text");
    write(path, &(json + "\n"))
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    fs::write(path, text).map_err(|source| BenchError::Write { path: path.display().to_string(), source })
}
