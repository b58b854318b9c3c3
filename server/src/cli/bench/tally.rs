//! The answers of a round, counted.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::dialect::Answer;

/// Latencies are told apart from this on, in nanoseconds.
const LATENCY_NS_MIN: u64 = 100;

/// Longest latency that is told apart, in nanoseconds; a longer one counts as this.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Significant decimal digits of a latency.
const LATENCY_DIGITS: u8 = 3;

/// What was answered, and how long it took.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) allowed: u64,
    pub(super) denied: u64,
    /// Answers without a decision: the target was overloaded, full, or too late.
    pub(super) undecided: u64,
    /// Nanoseconds from the question to the answer.
    pub(super) latency_ns: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Tally {
        let latency_ns = Histogram::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, LATENCY_DIGITS)
            .expect("the bounds are ordered and the digits are at most five");
        Tally { allowed: 0, denied: 0, undecided: 0, latency_ns }
    }

    /// Counts an answer; false if nobody had asked for it.
    #[inline]
    pub(super) fn count(&mut self, answer: Answer) -> bool {
        match answer {
            Answer::Allowed => self.allowed += 1,
            Answer::Denied => self.denied += 1,
            Answer::Undecided => self.undecided += 1,
            Answer::Ready | Answer::Notice => return false,
        }
        true
    }

    /// Notes that `answers` answers took this long.
    #[inline]
    pub(super) fn waited(&mut self, latency: Duration, answers: usize) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(LATENCY_NS_MAX);
        self.latency_ns.saturating_record_n(ns, answers as u64);
    }

    pub(super) fn decisions(&self) -> u64 {
        self.allowed + self.denied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_decisions_count_as_decisions() {
        let mut tally = Tally::new();
        let answers = [Answer::Allowed, Answer::Denied, Answer::Denied, Answer::Undecided, Answer::Notice];
        assert_eq!(answers.map(|answer| tally.count(answer)), [true, true, true, true, false]);
        assert_eq!((tally.decisions(), tally.allowed, tally.undecided), (3, 1, 1));
    }

    #[test]
    fn every_answer_of_a_batch_has_its_latency() {
        let mut tally = Tally::new();
        tally.waited(Duration::from_micros(10), 3);
        tally.waited(Duration::from_secs(3_600), 1);
        assert_eq!(tally.latency_ns.len(), 4);
        assert_eq!(tally.latency_ns.value_at_quantile(0.5) / 100, 100);
    }
}
