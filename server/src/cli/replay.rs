//! `tallyring replay`: what rules would have done to an access log.
//!
//! The engine that serves traffic, in this process, on the log's own time. The path of a line: [`input`] reads it →
//! [`line`] understands it → [`order`] puts it in its place in time → [`judge`](mod@judge) asks the rules and the engine → [`tally`]
//! counts → [`report`] shows.
//!
//! Memory does not grow with the log, but with the keys in it, up to bounds that the report mentions when they were reached.

mod entry;
mod input;
mod judge;
mod line;
mod order;
mod report;
mod tally;
mod time;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tallyring_protocol::rules::RuleSet;

use self::input::Input;
use self::judge::Judge;
use self::order::Merge;
use self::report::Report;
use super::exit::{Exit, Failure, end};
use super::rules_file;
use crate::rules::visible::visible;

/// Logs of one run; each is an open file.
const LOGS_MAX: usize = 1_000;
/// From this many bytes on it is shown how far the run is.
const PROGRESS_BYTES_MIN: u64 = 16 << 20;
/// Lines between two looks at how far the run is.
const LINES_PER_LOOK: u64 = 16_384;

/// What to replay, and how to show it.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// Access logs in combined or common format or as JSON lines, gzipped or not, in any order; - is stdin.
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The rules, in TOML or JSON; - is stdin.
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Write a page with pictures.
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &ReplayArgs) -> ExitCode {
    end(replay(args))
}

/// A report on half a log is shown, and ends with 1: a script must not take it for the whole. On nothing there is none.
fn replay(args: &ReplayArgs) -> Result<Exit, Failure> {
    let (_, rules) = rules_file::load_of_flag("rules", args.rules.clone())?;
    let report = judge(open(&args.logs)?, &rules);
    if report.is_of_nothing() {
        return Err(Failure::invalid(said(report.failures())));
    }
    eprint!(
        "{}",
        visible(&report.remarks().iter().map(|remark| format!("tallyring: replay: {remark}\n")).collect::<String>())
    );
    if let Some(path) = &args.html {
        std::fs::write(path, report::html::page(&report))
            .map_err(|error| Failure::invalid(said(&[format!("{}: {error}", path.display())])))?;
    }
    let text =
        if args.json { report::json::text(&report) } else { visible(&report::table::text(&report)).into_owned() };
    match std::io::stdout().write_all(text.as_bytes()) {
        // Whoever read our output has had enough of it.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::invalid(said(&[format!("stdout: {error}")])))
        }
        _ => Ok(if report.is_whole() { Exit::Good } else { Exit::Invalid }),
    }
}

/// Errors as lines of a failure, which begins the first.
fn said(errors: &[String]) -> String {
    let lines: Vec<String> = errors.iter().map(|error| format!("replay: {error}")).collect();
    lines.join("\ntallyring: ")
}

fn open(logs: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    if logs.len() > LOGS_MAX {
        let many = format!("{} logs are too many: at most {LOGS_MAX} at once", logs.len());
        return Err(Failure::invalid(said(&[many])));
    }
    let inputs: Result<Vec<Input>, String> = logs.iter().map(|path| Input::open(path)).collect();
    inputs.map_err(|error| Failure::invalid(said(&[error])))
}

/// Replays the logs as one.
fn judge(inputs: Vec<Input>, rules: &RuleSet) -> Report {
    let bytes: u64 = inputs.iter().map(Input::bytes).sum();
    let progress = progress(bytes);
    let mut merge = Merge::new(inputs, judge::needs_headers(rules));
    let mut judge = Judge::new(rules);
    while let Some(entry) = merge.next() {
        judge.decide(&entry);
        if judge.requests().is_multiple_of(LINES_PER_LOOK) {
            progress.set_position(merge.bytes_read());
        }
    }
    progress.finish_and_clear();
    judge.report(merge.into_counts())
}

/// A bar on stderr, if somebody looks and it takes long enough.
fn progress(bytes: u64) -> ProgressBar {
    if bytes < PROGRESS_BYTES_MIN || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes}  {elapsed} of about {duration}")
        .expect("the template is a constant that a test draws");
    ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr()).with_style(style)
}

#[cfg(test)]
mod tests;
