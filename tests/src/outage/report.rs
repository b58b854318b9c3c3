//! What callers felt, by what the store was doing, and what was admitted without it.

use std::fmt;
use std::time::{Duration, Instant};

use tallyring_client::StoreConfig;

use super::SHARE;
use super::callers::CLIENTS;
use super::counts::Counts;

/// How long after its return the store counts as having just come back.
const RETURN: Duration = Duration::from_millis(500);

/// What a timer may be late by: tokio's counts whole milliseconds.
const TIMER: Duration = Duration::from_millis(1);

/// One answered request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) sent: Instant,
    pub(super) took: Duration,
}

/// When the store was killed, and when it served again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    pub(super) gone: Instant,
    pub(super) back: Instant,
}

/// What the store was doing while a request was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It served.
    Up,
    /// It was killed meanwhile, or dead.
    Gone,
    /// It had just come back.
    Back,
}

impl Sample {
    fn phase(&self, outages: &[Outage]) -> Phase {
        let is_during = |from: Instant, to: Instant| self.sent < to && self.sent + self.took >= from;
        if outages.iter().any(|outage| is_during(outage.gone, outage.back)) {
            Phase::Gone
        } else if outages.iter().any(|outage| is_during(outage.back, outage.back + RETURN)) {
            Phase::Back
        } else {
            Phase::Up
        }
    }
}

/// What ten outages came to.
#[derive(Clone, Debug)]
pub struct Report {
    rows: [Row; 3],
    unanswered: u64,
    /// What the fallback may have admitted at most, in units: those who ask when the store goes, and those who ask until it
    /// is back, have one share each.
    share: u64,
    counts: Counts,
}

#[derive(Clone, Debug)]
struct Row {
    phase: Phase,
    /// From the shortest to the longest.
    took: Vec<Duration>,
}

impl Row {
    fn percentile(&self, percent: usize) -> Duration {
        let last = self.took.len().saturating_sub(1);
        self.took.get(last * percent / 100).copied().unwrap_or_default()
    }
}

impl Report {
    pub(super) fn new(samples: &[Sample], outages: &[Outage], unanswered: u64, counts: Counts) -> Report {
        let rows = [Phase::Up, Phase::Gone, Phase::Back].map(|phase| {
            let of_phase = samples.iter().filter(|sample| sample.phase(outages) == phase);
            let mut took: Vec<Duration> = of_phase.map(|sample| sample.took).collect();
            took.sort_unstable();
            Row { phase, took }
        });
        Report { rows, unanswered, share: outages.len() as u64 * 2 * CLIENTS * SHARE, counts }
    }

    /// The longest that an outage may add to 99 of 100 requests.
    fn bound() -> Duration {
        StoreConfig::default().deadline + TIMER
    }

    /// What a phase adds to the half of all requests that are fastest while the store serves.
    fn added(&self, row: &Row, percent: usize) -> Duration {
        row.percentile(percent).saturating_sub(self.rows[0].percentile(50))
    }

    /// Whether every request was answered, 99 of 100 in time, and nothing admitted or forgotten that may not be.
    pub fn is_good(&self) -> bool {
        let Counts { admitted_alone, owed, charged, lost } = self.counts;
        self.unanswered == 0
            && self.rows.iter().all(|row| self.added(row, 99) <= Report::bound())
            && (1..=self.share).contains(&admitted_alone)
            && owed == 0
            && charged + lost == admitted_alone
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "store | requests | p50 us | p99 us | max us | added at p99, us | added at most, us")?;
        for row in &self.rows {
            let [p50, p99, max] = [50, 99, 100].map(|percent| row.percentile(percent).as_micros());
            let (added, most) = (self.added(row, 99).as_micros(), self.added(row, 100).as_micros());
            writeln!(f, "{:?} | {} | {p50} | {p99} | {max} | {added} | {most}", row.phase, row.took.len())?;
        }
        let Counts { admitted_alone, owed, charged, lost } = self.counts;
        writeln!(f, "unanswered {}; 99 of 100 may take {} us more", self.unanswered, Report::bound().as_micros())?;
        writeln!(f, "admitted alone {admitted_alone} of {}; charged {charged}, lost {lost}, owed {owed}", self.share)?;
        write!(f, "{}", if self.is_good() { "good" } else { "not good" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sent_ms: u64, took_ms: u64, phase: Phase) {
        let epoch = Instant::now();
        let at = |ms| epoch + Duration::from_millis(ms);
        let outage = Outage { gone: at(1_000), back: at(2_000) };
        let sample = Sample { sent: at(sent_ms), took: Duration::from_millis(took_ms) };
        assert_eq!(sample.phase(&[outage]), phase, "{sent_ms} + {took_ms} ms");
    }

    #[test]
    fn a_request_that_met_the_kill_is_one_of_the_outage() {
        check(0, 5, Phase::Up);
        check(998, 1, Phase::Up);
        check(998, 5, Phase::Gone);
        check(1_500, 5, Phase::Gone);
        check(1_999, 5, Phase::Gone);
        check(2_000, 5, Phase::Back);
        check(2_500, 5, Phase::Up);
    }

    fn report(took_gone_ms: u64, unanswered: u64, counts: Counts) -> Report {
        let epoch = Instant::now();
        let outage = Outage { gone: epoch + Duration::from_secs(1), back: epoch + Duration::from_secs(2) };
        let up = Sample { sent: epoch, took: Duration::from_millis(1) };
        let gone = Sample { sent: outage.gone, took: Duration::from_millis(took_gone_ms) };
        Report::new(&[up, gone], &[outage], unanswered, counts)
    }

    #[test]
    fn a_report_is_good_only_if_everything_is() {
        let counts = Counts { admitted_alone: 10, owed: 0, charged: 9, lost: 1 };
        assert!(report(7, 0, counts).is_good(), "{}", report(7, 0, counts));
        assert!(!report(8, 0, counts).is_good(), "slow");
        assert!(!report(7, 1, counts).is_good(), "unanswered");
        assert!(!report(7, 0, Counts { owed: 1, charged: 8, ..counts }).is_good(), "owed");
        assert!(
            !report(7, 0, Counts { admitted_alone: 1 << 40, charged: (1 << 40) - 1, ..counts }).is_good(),
            "too many"
        );
        assert!(!report(7, 0, Counts::default()).is_good(), "nothing was admitted: there was no outage");
    }
}
