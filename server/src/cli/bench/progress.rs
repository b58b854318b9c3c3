//! How far the run is: a bar where somebody watches, a line a round where the output is kept. Both on stderr.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Draws no bar and says what happened.
#[derive(Debug)]
struct Lines {
    done: u64,
    total: u64,
    started: Instant,
}

/// Where the run's steps are reported.
#[derive(Debug)]
pub(super) struct Progress(Kind);

#[derive(Debug)]
enum Kind {
    Bar(ProgressBar),
    Lines(Lines),
}

impl Progress {
    /// Of a run that takes `total` steps.
    pub(super) fn new(total: u64) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(Kind::Lines(Lines { done: 0, total, started: Instant::now() }));
        }
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {elapsed} of about {duration}  {msg}")
            .expect("the template is a constant that a test draws");
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        Progress(Kind::Bar(bar.with_style(style)))
    }

    /// Says what is going on now.
    pub(super) fn begin(&self, what: impl Display) {
        if let Kind::Bar(bar) = &self.0 {
            bar.set_message(what.to_string());
            bar.tick(); // drawn here and nowhere else: a drawing thread would run on the generator's processor
        }
    }

    /// Says that a step is done, and what it brought.
    pub(super) fn done(&mut self, what: impl Display) {
        match &mut self.0 {
            Kind::Bar(bar) => bar.inc(1),
            Kind::Lines(lines) => {
                lines.done += 1;
                eprintln!("[{}/{} {:>4}] {what}", lines.done, lines.total, seconds(lines.started.elapsed()));
            }
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        if let Kind::Bar(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}

fn seconds(elapsed: Duration) -> String {
    format!("{}s", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_can_be_drawn() {
        let mut progress = Progress::new(2);
        progress.begin("first");
        progress.done("first: done");
        progress.finish();
    }
}
