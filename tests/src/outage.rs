//! An outage as callers of an API feel it: their gateway is a process of its own, so is the store behind it, and the store
//! is killed and started again, ten times, under load.
//!
//! Real processes and real time, so the figures are worth as much as the machine is quiet: this is a program and no test.
//! `server/tests/outage.rs` holds what must be true on any machine.
//!
//! Callers keep a pace rather than ask as fast as they can: the time between two requests of a caller is longer than any
//! wait that the gateway may cost, so that a slow answer hides no request that would have been slow as well.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "real processes are measured in real time")]

mod callers;
mod counts;
mod processes;
mod report;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::callers::Callers;
use self::counts::Counts;
use self::processes::{Gateway, Node};
use self::report::{Outage, Sample};
pub use self::report::{Phase, Report};

/// How often the store is killed.
const OUTAGES: u32 = 10;

/// How long the store serves before it is killed, and how long it is away, beside what its start takes.
const SPELL: Duration = Duration::from_secs(1);

/// Units of a client in all: none comes back while the program runs, and so the store forgets none that it is owed.
const LIMIT: u64 = 100;

/// Units of so long a limit that a gateway alone may give a client: a twentieth.
const SHARE: u64 = LIMIT / 20;

/// How long the store may take to be charged with what was admitted without it.
const CHARGES_WITHIN: Duration = Duration::from_secs(20);

/// The programs that are run.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `tallyring`.
    pub node: PathBuf,
    /// `gateway`, the example of the client crate.
    pub gateway: PathBuf,
}

/// Kills the store ten times and says what the callers of its gateway felt.
///
/// # Errors
/// If a program cannot be started, or does not say where it serves.
pub fn run(programs: &Programs) -> io::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(suffer(programs))
}

async fn suffer(programs: &Programs) -> io::Result<Report> {
    let mut node = Node::start(&programs.node, None)?;
    let address = node.address;
    let gateway = Gateway::start(&programs.gateway, address, &rules())?;
    let callers = Arc::new(Callers::default());
    let load = callers.start(gateway.address);
    let mut outages = Vec::new();
    for _ in 0..OUTAGES {
        callers.are_others();
        tokio::time::sleep(SPELL).await;
        let gone = Instant::now();
        node.kill()?;
        callers.are_others();
        tokio::time::sleep(SPELL).await;
        node = Node::start(&programs.node, Some(address))?;
        outages.push(Outage { gone, back: Instant::now() });
        until_charged(&gateway).await?;
    }
    callers.stop();
    let samples: Vec<Sample> = load.join_all().await.into_iter().flatten().collect();
    let counts = until_charged(&gateway).await?;
    Ok(Report::new(&samples, &outages, callers.unanswered(), counts))
}

/// One bucket a client.
fn rules() -> String {
    let rule = r#""id":"client","key":["client"],"algorithm":"token_bucket","window":"400d""#;
    format!(r#"{{"rule":[{{{rule},"limit":{LIMIT}}}]}}"#)
}

/// Waits until nothing is owed to the store any more, or the time is over.
async fn until_charged(gateway: &Gateway) -> io::Result<Counts> {
    let give_up = Instant::now() + CHARGES_WITHIN;
    loop {
        let counts = Counts::ask(gateway.address).await?;
        if counts.owed == 0 || Instant::now() > give_up {
            return Ok(counts);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
