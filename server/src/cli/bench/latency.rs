//! How long answers took: a histogram, and the few numbers of it that are shown.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Latencies are told apart from this on, in nanoseconds.
const NS_MIN: u64 = 100;

/// Longest latency that is told apart, in nanoseconds; a longer one counts as this.
const NS_MAX: u64 = 60_000_000_000;

/// Significant decimal digits of a latency.
const DIGITS: u8 = 3;

/// Latencies of many answers.
#[derive(Clone, Debug)]
pub(super) struct Latencies(Histogram<u64>);

/// A latency that so many of all answers did not exceed, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Percentiles {
    pub(super) p50_ns: u64,
    pub(super) p90_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) p999_ns: u64,
    pub(super) max_ns: u64,
}

impl Percentiles {
    /// What they are called, in the order of [`Percentiles::values`].
    pub(super) const NAMES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];

    /// The numbers, each at least as large as the one before.
    pub(super) fn values(&self) -> [u64; 5] {
        [self.p50_ns, self.p90_ns, self.p99_ns, self.p999_ns, self.max_ns]
    }
}

impl Latencies {
    pub(super) fn new() -> Latencies {
        let histogram = Histogram::new_with_bounds(NS_MIN, NS_MAX, DIGITS);
        Latencies(histogram.expect("the bounds are ordered and the digits are at most five"))
    }

    /// Notes that `answers` answers took this long; of none there is nothing to note.
    #[inline]
    pub(super) fn note(&mut self, latency: Duration, answers: usize) {
        if answers == 0 {
            return; // the histogram would take it for the longest
        }
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(NS_MAX);
        self.0.saturating_record_n(ns, answers as u64);
    }

    /// Takes those of another round in.
    pub(super) fn merge(&mut self, other: &Latencies) {
        self.0.add(&other.0).expect("all histograms have the same bounds");
    }

    pub(super) fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.0.value_at_quantile(quantile);
        Percentiles { p50_ns: at(0.5), p90_ns: at(0.9), p99_ns: at(0.99), p999_ns: at(0.999), max_ns: self.0.max() }
    }

    /// How many answers there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> u64 {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(micros: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new();
        micros.into_iter().for_each(|us| latencies.note(Duration::from_micros(us), 1));
        latencies
    }

    #[test]
    fn every_answer_of_a_batch_has_its_latency() {
        let mut latencies = of([]);
        latencies.note(Duration::from_micros(10), 3);
        latencies.note(Duration::from_secs(1), 0);
        assert!(latencies.percentiles().max_ns < 11_000);
        latencies.note(Duration::from_secs(3_600), 1);
        assert_eq!(latencies.len(), 4);
        assert_eq!(latencies.percentiles().p50_ns / 100, 100);
        assert!(latencies.percentiles().max_ns >= NS_MAX);
    }

    #[test]
    fn merged_rounds_are_as_if_they_had_been_one() {
        let mut merged = of(1..=500);
        merged.merge(&of(501..=1_000));
        assert_eq!(merged.percentiles(), of(1..=1_000).percentiles());
        assert_eq!(merged.len(), 1_000);
    }

    #[test]
    fn percentiles_are_within_a_thousandth_and_in_order() {
        let Percentiles { p50_ns, p90_ns, p99_ns, p999_ns, max_ns } = of(1..=10_000).percentiles();
        for (found, exact_us) in [(p50_ns, 5_000), (p90_ns, 9_000), (p99_ns, 9_900), (p999_ns, 9_990), (max_ns, 10_000)]
        {
            let exact = exact_us * 1_000;
            assert!(found.abs_diff(exact) <= exact / 1_000, "{found} instead of {exact}");
        }
    }

    #[test]
    fn nothing_has_percentiles_of_nothing() {
        assert_eq!(of([]).percentiles(), Percentiles::default());
    }
}
