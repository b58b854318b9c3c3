//! A line of a log, in whichever format it is.

mod combined;
mod json;

use super::entry::Entry;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A request.
    Request(Entry),
    /// The beginning of one: the line was cut, but its time can be read.
    Cut(Entry),
    /// None of the formats that are known.
    Unknown,
}

/// Reads a line that is not empty. Headers are kept only if somebody asks for them.
pub(super) fn read(line: &str, with_headers: bool) -> Line {
    let line = line.trim_start_matches('\u{feff}').trim();
    if line.starts_with('{') { json::read(line, with_headers) } else { combined::read(line, with_headers) }
}
