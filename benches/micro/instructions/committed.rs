//! The counts that the project has committed to.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Instructions an operation, by the case's name.
pub(crate) type Counts = BTreeMap<String, u64>;

/// How far a count may move, in per cent, before somebody has to agree.
const TOLERANCE_PERCENT: u64 = 5;

/// Reads the committed counts; none if nothing has been committed to.
pub(crate) fn read() -> io::Result<Counts> {
    match std::fs::read(path()) {
        Ok(json) => serde_json::from_slice(&json).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Counts::new()),
        Err(error) => Err(error),
    }
}

/// Commits to these counts.
pub(crate) fn write(counts: &Counts) -> io::Result<()> {
    std::fs::write(path(), to_json(counts) + "\n")
}

/// The counts as they are committed and printed.
pub(crate) fn to_json(counts: &Counts) -> String {
    serde_json::to_string_pretty(counts).expect("names and numbers have a JSON form")
}

/// A line for every count that has moved too far, appeared or gone.
pub(crate) fn moved(before: &Counts, now: &Counts) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, now) in now {
        match before.get(name) {
            None => lines.push(format!("{name}: {now} instructions, and none committed")),
            Some(before) if too_far(*before, *now) => lines.push(format!("{name}: {before} → {now} instructions")),
            Some(_) => (),
        }
    }
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    lines.extend(gone.map(|name| format!("{name}: committed, and no longer counted")));
    lines
}

fn too_far(before: u64, now: u64) -> bool {
    before.abs_diff(now) * 100 > before * TOLERANCE_PERCENT
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &[(&str, u64)], now: &[(&str, u64)], expect: &[&str]) {
        let counts = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        assert_eq!(moved(&counts(before), &counts(now)), expect);
    }

    #[test]
    fn five_per_cent_either_way_are_no_move() {
        check(&[("a", 100)], &[("a", 105)], &[]);
        check(&[("a", 100)], &[("a", 95)], &[]);
        check(&[("a", 100)], &[("a", 106)], &["a: 100 → 106 instructions"]);
        check(&[("a", 100)], &[("a", 94)], &["a: 100 → 94 instructions"]);
    }

    #[test]
    fn a_case_that_comes_or_goes_is_a_move() {
        check(
            &[("a", 1)],
            &[("b", 2)],
            &["b: 2 instructions, and none committed", "a: committed, and no longer counted"],
        );
    }

    #[test]
    fn the_committed_counts_can_be_read() {
        assert_eq!(read().unwrap().len(), crate::case::CASES.len());
    }
}
