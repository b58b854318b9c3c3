//! Kills the store ten times under the load of a gateway, and prints what its callers felt.
//!
//! ```text
//! cargo build --release -p tallyring && cargo build --release -p tallyring-client --example gateway
//! cargo run --release -p tallyring-tests --bin outage -- target/release/tallyring target/release/examples/gateway
//! ```
//! Ends with 1 if a request was left unanswered, took longer than it may, or was admitted beyond the gateway's share.

use std::path::PathBuf;
use std::process::ExitCode;

use tallyring_tests::outage::{Programs, run};

fn main() -> ExitCode {
    let programs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let Ok([node, gateway]) = <[PathBuf; 2]>::try_from(programs) else {
        eprintln!("usage: outage NODE GATEWAY: the programs `tallyring` and `gateway`, the client crate's example");
        return ExitCode::from(2);
    };
    match run(&Programs { node, gateway }) {
        Ok(report) => {
            println!("{report}");
            if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("outage: {error}");
            ExitCode::FAILURE
        }
    }
}
