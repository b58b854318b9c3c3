//! `simulate --seed N [--bug NAME]`: what happens in one simulation, and what is broken.

use std::process::ExitCode;

use tallyring_tests::sim::bug::{self, Bug};
use tallyring_tests::sim::{broken, run_with};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments) {
        Ok((seed, bug)) => simulate(seed, bug),
        Err(wrong) => {
            let names: Vec<&str> = bug::NAMES.iter().map(|(name, _)| *name).collect();
            eprintln!("{wrong}; simulate --seed N [--bug {}]", names.join("|"));
            ExitCode::from(2)
        }
    }
}

fn simulate(seed: u64, bug: Option<Bug>) -> ExitCode {
    let history = run_with(seed, bug);
    print!("{history}");
    match broken(&history) {
        Some(broken) => {
            println!("seed {seed}: {broken}");
            ExitCode::FAILURE
        }
        None => {
            println!("seed {seed}: every invariant held");
            ExitCode::SUCCESS
        }
    }
}

fn parse(arguments: &[String]) -> Result<(u64, Option<Bug>), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (seed, bug) = match arguments[..] {
        ["--seed", seed] => (seed, None),
        ["--seed", seed, "--bug", bug] => (seed, Some(bug)),
        _ => return Err("a seed is wanted".to_owned()),
    };
    let named = |name| bug::NAMES.iter().find(|(known, _)| *known == name).map(|(_, bug)| *bug);
    let bug = bug.map(|name| named(name).ok_or(format!("{name} is no bug"))).transpose()?;
    Ok((seed.parse().map_err(|_| format!("{seed} is no seed"))?, bug))
}
