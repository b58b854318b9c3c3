//! The answers of a round, counted.

use super::dialect::Answer;
use super::latency::Latencies;

/// What was answered, and how long it took.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) allowed: u64,
    pub(super) denied: u64,
    /// Answers without a decision: the target was overloaded, full, or too late.
    pub(super) undecided: u64,
    /// From the moment the call was said, or was to be said, to its answer.
    pub(super) latency: Latencies,
    /// From the moment a call was to be said to the moment it was: how late the generator itself was.
    pub(super) lateness: Latencies,
}

impl Tally {
    pub(super) fn new() -> Tally {
        let (latency, lateness) = (Latencies::new(), Latencies::new());
        Tally { allowed: 0, denied: 0, undecided: 0, latency, lateness }
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
}
