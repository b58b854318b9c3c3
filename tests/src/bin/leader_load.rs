//! Loads three nodes as much as the machine can bear, kills their leader now and then, and prints how long nobody led.
//!
//! ```text
//! cargo build --release -p tallyring
//! cargo run --release -p tallyring-tests --bin leader_load -- target/release/tallyring 180 20 [--json]
//! ```
//! The numbers are the seconds that the cluster is left alone, and how often its leader is killed afterwards. Ends with 1 if
//! a cluster that nobody did anything to was without a leader for more than 400 ms at the 99th percentile.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tallyring_tests::leader_load::{Plan, run};

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let is_json = args.last().is_some_and(|last| last == "--json");
    args.truncate(args.len() - usize::from(is_json));
    let Some(plan) = plan(&args) else {
        eprintln!("usage: leader_load NODE SECONDS KILLS [--json]: the program `tallyring`, and two whole numbers");
        return ExitCode::from(2);
    };
    match run(&plan) {
        Ok(report) => {
            if is_json {
                println!("{}", report.json());
            } else {
                println!("{report}");
            }
            if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("leader_load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn plan(args: &[String]) -> Option<Plan> {
    let [program, alone, kills] = args else { return None };
    let alone = Duration::from_secs(alone.parse().ok()?);
    Some(Plan { program: PathBuf::from(program), alone, kills: kills.parse().ok()? })
}
