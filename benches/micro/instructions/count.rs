//! Counting: this very program under callgrind.

use std::process::Command;

use tallyring_benches::BATCH;

use crate::case::BATCHES_MAX;

/// Batches of the run that is subtracted.
const BATCHES_FEW: usize = 100;

/// A count that could not be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CountError {
    #[error("valgrind could not be started: {0}")]
    Valgrind(#[from] std::io::Error),
    #[error("{name}: valgrind did not say how many instructions it collected: {said}")]
    Uncounted { name: String, said: String },
}

/// Instructions an operation of the case with this name, rounded to the nearest.
pub(crate) fn per_operation(name: &str) -> Result<u64, CountError> {
    let (few, all) = (collected(name, BATCHES_FEW)?, collected(name, BATCHES_MAX)?);
    let operations = ((BATCHES_MAX - BATCHES_FEW) * BATCH) as u64;
    Ok((all.saturating_sub(few) + operations / 2) / operations)
}

/// Instructions of a whole process that works on so many batches.
fn collected(name: &str, batches: usize) -> Result<u64, CountError> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe()?);
    let output = valgrind.args(["--run", name, &batches.to_string()]).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    parse(&said).filter(|_| output.status.success()).ok_or(CountError::Uncounted { name: name.to_owned(), said })
}

/// The number behind `Collected :` in what callgrind says at its end.
fn parse(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once("Collected :")).and_then(|(_, number)| number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_callgrind_says() {
        assert_eq!(parse("==7== Events    : Ir\n==7== Collected : 123456\n==7==\n"), Some(123_456));
        assert_eq!(parse("==7== valgrind: no such tool\n"), None);
    }
}
