//! `tallyring bench`: how many decisions a second, at what cost, how late, and how exact, beside a Redis in the same run.
//!
//! A run *meets* its targets (or starts its own: `servers`), counts admissions against the exact number (`exact`), has each
//! *fill* its accounts, and then lets every target decide in turn, A B A B, one *round* after the other (`perform`): an
//! absolute figure says little on a shared machine, the ratio to a peer in the same minutes says a lot. Servers are bound
//! to one processor and the generator to another (`pin`), and both sides' processor time is shown, so that nobody takes
//! the generator's limit for the target's.
//!
//! ```text
//! feed (what is asked) ─► dialect (in which words) ─► sockets: closed loop, or open by a plan of arrivals ─► tally
//!                     └─► spelling (which account) ─► callers of a client or a limiter: the same two ───────┘
//! ```
//!
//! In a closed loop every connection sends a batch, waits for all of its answers, and sends the next. That finds the
//! highest rate; its latencies are those at full load. An open loop asks at a fixed rate, and a latency counts from the
//! moment when the call was due, not from when the generator came to it: a target that stops is charged with every call
//! that would have come meanwhile.
//!
//! Not here: the engine alone, without sockets (`benches/`).
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a generator measures the operating system's clock and sockets themselves, and never runs in a simulation"
)]

mod accounts;
mod args;
mod arrivals;
mod callers;
mod connection;
mod dialect;
mod draw;
mod error;
mod exact;
mod expiry;
mod feed;
mod floor;
mod growth;
mod inbox;
mod latency;
mod memory;
mod mix;
mod numbers;
mod perform;
mod pin;
mod plan;
mod process;
mod progress;
mod report;
mod round;
mod servers;
mod setting;
mod sockets;
mod statistics;
mod subject;
mod tally;
mod target;
mod template;
mod zipf;

use std::process::ExitCode;

use tallyring_engine::Algorithm;
use tokio::runtime::{Builder, LocalOptions};
use tokio::signal::unix::{SignalKind, signal};

use super::exit;
pub use args::BenchArgs;
use error::BenchError;
use memory::Memory;
use perform::Performance;
use pin::Cpus;
use plan::Plan;
use progress::Progress;
use report::{Machine, Report};
use servers::Server;
use subject::Subject;
use target::{Scheme, Target};

/// Measures, prints the table on stdout, and says by the exit code whether every store of ours was exact: 0 yes, 1 no, or
/// there is no result.
pub fn run(args: BenchArgs) -> ExitCode {
    let outcome = match args.floor() {
        Some(addr) => floor::serve(addr).map_err(|source| BenchError::System { what: "serving the floor", source }),
        None => measure_and_print(&args.plan()),
    };
    outcome.map_or_else(super::fail, |()| ExitCode::SUCCESS)
}

fn measure_and_print(plan: &Plan) -> Result<(), BenchError> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let runtime = runtime.map_err(|source| BenchError::System { what: "starting the generator", source })?;
    let report = runtime.block_on(unless_interrupted(measure(plan)))?;
    exit::say(if plan.markdown { report.to_markdown() } else { report.to_text() });
    if let Some(path) = &plan.json {
        report.write_json(path)?;
    }
    if let Some(path) = &plan.html {
        report.write_html(path)?;
    }
    if report.is_exact() { Ok(()) } else { Err(BenchError::Inexact) }
}

/// Drops the run when somebody wants it to end; its servers end with it.
async fn unless_interrupted(run: impl Future<Output = Result<Report, BenchError>>) -> Result<Report, BenchError> {
    let listen = |kind| signal(kind).map_err(|source| BenchError::System { what: "listening for signals", source });
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    tokio::select! {
        biased;
        _ = interrupt.recv() => Err(BenchError::Interrupted),
        _ = terminate.recv() => Err(BenchError::Interrupted),
        report = run => report,
    }
}

async fn measure(plan: &Plan) -> Result<Report, BenchError> {
    let machine = Machine::this();
    let cpus = Cpus::choose()?;
    let (servers, targets) = on_server_cpu(cpus, cast(plan)).await?;
    let server_cpu = cpus.filter(|_| !servers.is_empty()).map(|cpus| cpus.server);
    let subjects = meet(targets, plan).await?;
    let targets = Performance::new(&subjects, plan).run().await?;
    drop((subjects, servers));
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        machine,
        server_cpu,
        generator_cpu: cpus.map(|cpus| cpus.generator),
        plan: plan.clone(),
        targets,
        memory: memory_of_keys(plan, cpus).await?,
    })
}

/// Starts servers where they belong, and comes back to where the generator does. What is started inherits its processor.
async fn on_server_cpu<T>(
    cpus: Option<Cpus>,
    start: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    if let Some(cpus) = cpus {
        pin::to(cpus.server)?;
    }
    let started = start.await;
    if let Some(cpus) = cpus {
        pin::to(cpus.generator)?;
    }
    started
}

/// The targets that were named, or the run's own with their processes; the first one twice if the noise is asked for.
async fn cast(plan: &Plan) -> Result<(Vec<Server>, Vec<Target>), BenchError> {
    let (servers, mut targets) =
        if plan.targets.is_empty() { own_servers().await? } else { (Vec::new(), named(plan)?) };
    if plan.aa {
        let again = Target { label: format!("{} again", targets[0].label), ..targets[0].clone() };
        targets.insert(1, again);
    }
    Ok((servers, targets))
}

fn named(plan: &Plan) -> Result<Vec<Target>, BenchError> {
    plan.targets.iter().map(|url| Target::resolve(url, plan.remote_allowed)).collect()
}

async fn own_servers() -> Result<(Vec<Server>, Vec<Target>), BenchError> {
    let servers::Store { server: store, native, resp, http } = servers::store().await?;
    let (floor, bare) = servers::floor().await?;
    let through = |scheme: Scheme| Target { label: scheme.name().to_owned(), scheme, ..native.clone() };
    let (client, limiter) = (through(Scheme::Client), through(Scheme::Limiter));
    let (mut servers, mut targets) = (vec![store, floor], vec![native]);
    match servers::redis().await? {
        Some((server, target)) => {
            servers.push(server);
            targets.push(target);
        }
        None => eprintln!("there is no redis-server on the PATH: going on without"),
    }
    targets.extend([resp, http, bare, client, limiter]);
    Ok((servers, targets))
}

/// Every target under every algorithm that it speaks, if anything is asked of it at all. What decides nothing, and the
/// second of two equal ones, is measured under the first algorithm alone.
async fn meet(targets: Vec<Target>, plan: &Plan) -> Result<Vec<Subject>, BenchError> {
    let mut subjects = Vec::new();
    for (number, algorithm) in plan.algorithms.iter().enumerate() {
        for (place, target) in targets.iter().enumerate() {
            let is_extra = target.scheme == Scheme::Floor || plan.aa && place == 1;
            if number > 0 && is_extra {
                continue;
            }
            subjects.extend(meet_one(target, *algorithm, plan).await?);
        }
    }
    Ok(subjects)
}

async fn meet_one(target: &Target, algorithm: Algorithm, plan: &Plan) -> Result<Option<Subject>, BenchError> {
    if !target.scheme.speaks(algorithm) {
        eprintln!("{}: there is no script for {}: going on without", target.label, algorithm.name());
        return Ok(None);
    }
    let subject = Subject::meet(target.clone(), algorithm, plan).await?;
    if !plan.settings().iter().any(|setting| subject.takes(setting.shape)) {
        eprintln!("{}: takes one call at a time (--pipeline 1): going on without", target.label);
        return Ok(None);
    }
    Ok(Some(subject))
}

/// Memory is read where there is a process to look at: of servers started afresh for every algorithm, or of those named.
async fn memory_of_keys(plan: &Plan, cpus: Option<Cpus>) -> Result<Vec<Memory>, BenchError> {
    let mut memories = Vec::new();
    for algorithm in plan.algorithms.iter().filter(|_| !plan.memory.is_empty()) {
        let (_servers, mut targets) = on_server_cpu(cpus, cast(&Plan { aa: false, ..plan.clone() })).await?;
        // The other doors are of the same process.
        targets.retain(|target| {
            matches!(target.scheme, Scheme::Native | Scheme::Redis) && target.scheme.speaks(*algorithm)
        });
        let mut progress = Progress::new((targets.len() * plan.memory.len()) as u64);
        for target in targets {
            let subject = Subject::meet(target, *algorithm, plan).await?;
            memories.extend(memory::read(&subject, plan, &mut progress).await?);
        }
        progress.finish();
    }
    Ok(memories)
}
