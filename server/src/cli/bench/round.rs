//! A round: many connections talk to one target at once, and both sides' processor time is read before and after.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::connection::Connection;
use super::dialect::Dialect;
use super::error::BenchError;
use super::feed::Feed;
use super::process;
use super::tally::Tally;
use super::target::Target;

/// What happened in a round.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) tally: Tally,
    pub(super) elapsed: Duration,
    /// Processor time of the server's process, in nanoseconds, where it can be seen.
    pub(super) server_cpu_ns: Option<u64>,
    /// Processor time of this process, in nanoseconds.
    pub(super) generator_cpu_ns: u64,
}

/// Reads clocks when it is made; [`Stopwatch::stop`] reads them again.
#[derive(Debug)]
pub(super) struct Stopwatch {
    server: Option<u32>,
    server_cpu_ns: Option<u64>,
    generator_cpu_ns: u64,
    pub(super) started: Instant,
}

impl Stopwatch {
    pub(super) fn start(target: &Target) -> Stopwatch {
        Stopwatch {
            server: target.pid,
            server_cpu_ns: target.pid.and_then(process::cpu_ns),
            generator_cpu_ns: generator_cpu_ns(),
            started: Instant::now(),
        }
    }

    pub(super) fn stop(self, tally: Tally) -> Round {
        let elapsed = self.started.elapsed();
        let server_cpu_ns = self.server.and_then(process::cpu_ns).zip(self.server_cpu_ns);
        Round {
            tally,
            elapsed,
            server_cpu_ns: server_cpu_ns.map(|(after, before)| after.saturating_sub(before)),
            generator_cpu_ns: generator_cpu_ns().saturating_sub(self.generator_cpu_ns),
        }
    }
}

fn generator_cpu_ns() -> u64 {
    process::cpu_ns(std::process::id()).unwrap_or(0)
}

/// Opens `connections` connections, and lets every one ask what its feed asks. `feed` makes the feed of a connection, by
/// its number, at the moment when all are open. The first that fails ends the round.
pub(super) async fn run<F: Feed + 'static>(
    target: &Rc<Target>,
    dialect: &Rc<Dialect>,
    connections: u32,
    mut feed: impl FnMut(u32, Instant) -> F,
) -> Result<Round, BenchError> {
    let mut opened = Vec::new();
    for _ in 0..connections {
        opened.push(Connection::open(target, dialect).await?);
    }
    let tally = Rc::new(RefCell::new(Tally::new()));
    let watch = Stopwatch::start(target);
    let mut talks = JoinSet::new();
    for (mut connection, number) in opened.into_iter().zip(0..) {
        let (target, dialect, tally) = (target.clone(), dialect.clone(), tally.clone());
        let mut feed = feed(number, watch.started);
        talks.spawn_local(async move { connection.converse(&target, &dialect, &mut feed, &tally).await });
    }
    while let Some(talk) = talks.join_next().await {
        talk.expect("nobody cancels a talk, and its panic is ours")?;
    }
    Ok(watch.stop(tally.replace(Tally::new())))
}
