//! How many instructions the hot operations take, counted by callgrind: a number that does not depend on who else uses the
//! machine, so a change of five per cent can be seen where a clock would see noise.
//!
//! Every case runs twice under callgrind, with few batches and with many; the difference, divided by the operations that
//! make it, is free of set-up. `instructions` prints the counts as JSON and compares them with those in
//! `instructions.json`; `instructions --bless` writes them there.

mod case;
mod committed;
mod count;

use std::process::ExitCode;

use case::CASES;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => compare(),
        ["--bless"] => bless(),
        ["--run", name, batches] => case::run(name, batches).map_err(Into::into),
        _ => Err("usage: instructions [--bless]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Counts everything and says what has moved.
fn compare() -> Outcome {
    let (before, now) = (committed::read()?, count_all()?);
    println!("{}", committed::to_json(&now));
    let moved = committed::moved(&before, &now);
    for line in &moved {
        eprintln!("{line}");
    }
    if moved.is_empty() {
        Ok(())
    } else {
        Err("counts have moved: if that is meant, run with --bless and commit".into())
    }
}

/// Counts everything and commits to it.
fn bless() -> Outcome {
    let now = count_all()?;
    println!("{}", committed::to_json(&now));
    Ok(committed::write(&now)?)
}

fn count_all() -> Result<committed::Counts, count::CountError> {
    CASES.iter().map(|case| Ok((case.name.to_owned(), count::per_operation(case.name)?))).collect()
}
