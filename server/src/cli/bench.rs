//! `tallyring bench`: how many decisions a second, at what cost, how late, and how exact, beside a Redis in the same run.
//!
//! A run *meets* its targets (or starts its own: `servers`), has each *fill* its accounts, counts admissions against the
//! exact number (`exact`), and then lets every target decide in turn, A B A B, one *round* after the other: an absolute
//! figure says little on a shared machine, the ratio to a peer in the same minutes says a lot. Servers are bound to one
//! processor and the generator to another (`pin`), and both sides' processor time is shown, so that nobody takes the
//! generator's limit for the target's.
//!
//! The load is a closed loop: every connection sends a batch, waits for all of its answers, and sends the next. Its
//! latencies therefore are those under full load; they do not say what a target would do at half of it.
//!
//! Not here: the engine alone, without sockets (`benches/`).
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a generator measures the operating system's clock and sockets themselves, and never runs in a simulation"
)]

mod accounts;
mod args;
mod bucket;
mod callers;
mod connection;
mod dialect;
mod error;
mod exact;
mod feed;
mod floor;
mod inbox;
mod pin;
mod process;
mod progress;
mod report;
mod round;
mod servers;
mod statistics;
mod subject;
mod tally;
mod target;
mod template;

use std::process::ExitCode;

use tokio::runtime::{Builder, LocalOptions};
use tokio::signal::unix::{SignalKind, signal};

pub use args::BenchArgs;
use args::Plan;
use error::BenchError;
use pin::Cpus;
use progress::Progress;
use report::{Figures, Machine, Measured, Report, Row, Setting};
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
    print!("{}", report.to_text());
    if let Some(path) = &plan.json {
        report.write_json(path)?;
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
    if let Some(cpus) = cpus {
        pin::to(cpus.server)?; // what is started now inherits this
    }
    let (servers, targets) = cast(plan).await?;
    if let Some(cpus) = cpus {
        pin::to(cpus.generator)?;
    }
    let mut subjects = Vec::new();
    for target in targets {
        subjects.push(Subject::meet(target, plan).await?);
    }
    let targets = perform(&subjects, plan).await?;
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        machine,
        server_cpu: cpus.filter(|_| !servers.is_empty()).map(|cpus| cpus.server),
        generator_cpu: cpus.map(|cpus| cpus.generator),
        plan: plan.clone(),
        targets,
    })
}

/// The targets that were named, or the run's own with their processes; the first one twice if the noise is asked for.
async fn cast(plan: &Plan) -> Result<(Vec<Server>, Vec<Target>), BenchError> {
    let (servers, mut targets) = match &plan.targets[..] {
        [] => own_servers().await?,
        urls => {
            let named = urls.iter().map(|url| Target::resolve(url, plan.remote_allowed));
            (Vec::new(), named.collect::<Result<_, _>>()?)
        }
    };
    if plan.aa {
        let again = Target { label: format!("{} again", targets[0].label), ..targets[0].clone() };
        targets.insert(1, again);
    }
    Ok((servers, targets))
}

async fn own_servers() -> Result<(Vec<Server>, Vec<Target>), BenchError> {
    let servers::Store { server: store, native, resp } = servers::store().await?;
    let (floor, bare) = servers::floor().await?;
    let through_client = Target { label: Scheme::Client.name().to_owned(), scheme: Scheme::Client, ..native.clone() };
    let (mut servers, mut targets) = (vec![store, floor], vec![native]);
    match servers::redis().await? {
        Some((server, target)) => {
            servers.push(server);
            targets.push(target);
        }
        None => eprintln!("there is no redis-server on the PATH: going on without"),
    }
    targets.extend([resp, bare, through_client]);
    Ok((servers, targets))
}

/// Fills, counts and measures every subject, the subjects taking turns.
async fn perform(subjects: &[Subject], plan: &Plan) -> Result<Vec<Measured>, BenchError> {
    let settings = settings(plan);
    let turns = settings.iter().map(|setting| subjects.iter().filter(|subject| subject.takes(*setting)).count());
    let steps = turns.sum::<usize>() as u64 * u64::from(plan.rounds) + subjects.len() as u64;
    let mut progress = Progress::new(steps);
    let mut measured = Vec::new();
    for subject in subjects {
        measured.push(prepare(subject, plan, &mut progress).await?);
    }
    for setting in settings {
        alternate(subjects, setting, plan, &mut measured, &mut progress).await?;
    }
    for subject in subjects {
        subject.clean_up(plan).await?;
    }
    progress.finish();
    Ok(measured)
}

fn settings(plan: &Plan) -> Vec<Setting> {
    let pipelines = plan.pipelines.iter().map(|depth| Setting::Pipeline(*depth));
    pipelines.chain([Setting::Callers(plan.callers)]).collect()
}

/// Counts what the subject admits, and has it fill its accounts.
async fn prepare(subject: &Subject, plan: &Plan, progress: &mut Progress) -> Result<Measured, BenchError> {
    let (label, scheme) = (subject.target.label.clone(), subject.target.scheme);
    progress.begin(format_args!("{label}: filling"));
    // The floor decides nothing, so there is nothing to compare and nothing to fill.
    let exactness = match scheme {
        Scheme::Floor => None,
        Scheme::Native | Scheme::Redis | Scheme::Resp | Scheme::Client => {
            let exactness = subject.exactness(plan).await?;
            subject.fill(plan).await?;
            Some(exactness)
        }
    };
    progress.done(format_args!("{label}: filled"));
    Ok(Measured { label, scheme, version: subject.version.clone(), exactness, rows: Vec::new() })
}

/// All rounds of one setting: A B A B.
async fn alternate(
    subjects: &[Subject],
    setting: Setting,
    plan: &Plan,
    measured: &mut [Measured],
    progress: &mut Progress,
) -> Result<(), BenchError> {
    let mut rows = vec![Vec::new(); subjects.len()];
    for number in 1..=plan.rounds {
        for (subject, rounds) in subjects.iter().zip(&mut rows).filter(|(subject, _)| subject.takes(setting)) {
            let label = &subject.target.label;
            progress.begin(format_args!("{label}, {setting}"));
            let figures = Figures::of(&subject.round(setting, number, plan).await?);
            progress.done(format_args!("{label}, {setting}: {} decisions/s", figures.decisions_per_s));
            rounds.push(figures);
        }
    }
    for (measured, rounds) in measured.iter_mut().zip(rows).filter(|(_, rounds)| !rounds.is_empty()) {
        measured.rows.push(Row { setting, rounds });
    }
    Ok(())
}
