//! The run itself: every subject is filled and counted, and then all of them take turns, setting by setting.

use super::accounts::Accounts;
use super::arrivals::Arrivals;
use super::error::BenchError;
use super::expiry;
use super::growth::Growth;
use super::mix::Pick;
use super::plan::Plan;
use super::progress::Progress;
use super::report::{Figures, Measured, Row};
use super::round::Round;
use super::setting::{Pace, Setting};
use super::subject::{Subject, fresh_prefix};

/// A run that is under way.
#[derive(Debug)]
pub(super) struct Performance<'a> {
    plan: &'a Plan,
    subjects: &'a [Subject],
    pick: Pick,
    measured: Vec<Measured>,
    progress: Progress,
}

impl<'a> Performance<'a> {
    pub(super) fn new(subjects: &'a [Subject], plan: &'a Plan) -> Performance<'a> {
        let turns = |setting: &Setting| subjects.iter().filter(|subject| subject.takes(setting.shape)).count();
        let turns: usize = plan.settings().iter().map(turns).sum();
        let steps = turns as u64 * u64::from(plan.rounds) + subjects.len() as u64;
        let pick = Pick::new(plan.mix, plan.accounts());
        Performance { plan, subjects, pick, measured: Vec::new(), progress: Progress::new(steps) }
    }

    /// Fills, counts and measures every subject.
    pub(super) async fn run(mut self) -> Result<Vec<Measured>, BenchError> {
        for subject in self.subjects {
            self.prepare(subject).await?;
        }
        for setting in self.plan.settings() {
            self.alternate(setting).await?;
        }
        for subject in self.subjects {
            subject.clean_up().await?;
        }
        self.progress.finish();
        Ok(self.measured)
    }

    /// Counts what the subject admits, and has it fill its accounts.
    async fn prepare(&mut self, subject: &Subject) -> Result<(), BenchError> {
        let mut measured = Measured::nothing_yet(subject);
        self.progress.begin(format_args!("{measured}: filling"));
        // The floor decides nothing, so there is nothing to compare and nothing to fill.
        if subject.decides() {
            measured.exactness = Some(subject.exactness().await?);
            subject.fill(self.plan).await?;
        }
        self.progress.done(format_args!("{measured}: filled"));
        self.measured.push(measured);
        Ok(())
    }

    /// All rounds of one setting: A B A B.
    async fn alternate(&mut self, setting: Setting) -> Result<(), BenchError> {
        let mut rows: Vec<Row> = self.subjects.iter().map(|_| Row::new(setting)).collect();
        let prefix = fresh_prefix("grow");
        for number in 1..=self.plan.rounds {
            for (at, row) in rows.iter_mut().enumerate().filter(|(at, _)| self.subjects[*at].takes(setting.shape)) {
                self.progress.begin(format_args!("{}, {setting}", self.measured[at]));
                let round = self.round(at, setting, number, &prefix).await?;
                let figures = Figures::of(&round);
                self.progress.done(format_args!("{}, {setting}: {}", self.measured[at], figures.headline()));
                row.add(figures, &round.tally.latency);
            }
        }
        for (measured, row) in self.measured.iter_mut().zip(rows).filter(|(_, row)| !row.rounds.is_empty()) {
            measured.rows.push(row);
        }
        Ok(())
    }

    async fn round(&self, at: usize, setting: Setting, number: u32, prefix: &str) -> Result<Round, BenchError> {
        let (subject, plan) = (&self.subjects[at], self.plan);
        let reached = self.measured[at].reached(setting.in_closed_loop()).unwrap_or(0);
        let Some(calls_per_s) = setting.calls_per_s(reached) else {
            return subject.round(setting.shape, number, plan, &self.pick).await;
        };
        let rate = (calls_per_s, setting.shape.batch());
        match setting.pace {
            Pace::Growing => {
                let keys = Accounts { prefix: prefix.to_owned(), count: plan.grow.unwrap_or(0) };
                Growth { keys, rounds: plan.rounds }.round(subject, rate, number).await
            }
            Pace::Expiring => {
                let keys = Accounts { prefix: format!("{prefix}-{number}"), count: plan.expire.unwrap_or(0) };
                expiry::round(subject, rate, &keys, reached, plan.round(), number, &self.pick).await
            }
            Pace::Closed | Pace::Percent(_) | Pace::Rate(_) => {
                subject.pace(Arrivals::within(plan.round(), rate.0, rate.1), number, &self.pick).await
            }
        }
    }
}
