//! The report as a file of JSON: every round, nothing rounded for the eye.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::Report;
use crate::cli::bench::error::BenchError;

pub(super) fn write(report: &Report, path: &Path) -> Result<(), BenchError> {
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, report).map_err(io::Error::from)?;
        file.write_all(b"\n")?;
        file.flush()
    });
    written.map_err(|source| BenchError::Json { path: path.display().to_string(), source })
}
