//! How long things take: counts in buckets with fixed bounds, cheap to add to and to sum over shards.

use std::time::Duration;

/// The upper bounds of the buckets, in microseconds, and as Prometheus writes them, in seconds.
pub const BOUNDS: [(u64, &str); 16] = [
    (1, "0.000001"),
    (2, "0.000002"),
    (5, "0.000005"),
    (10, "0.00001"),
    (20, "0.00002"),
    (50, "0.00005"),
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (5_000, "0.005"),
    (25_000, "0.025"),
    (100_000, "0.1"),
    (200_000, "0.2"),
    (400_000, "0.4"),
    (1_000_000, "1"),
];

/// A duration in whole microseconds.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Durations, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// How many fell into each bucket and into none before it; the last is for those beyond every bound.
    counts: [u64; BOUNDS.len() + 1],
    sum_us: u64,
}

impl Histogram {
    /// Counts `times` observations of `us` microseconds each.
    #[inline]
    pub fn observe(&mut self, us: u64, times: u64) {
        self.counts[BOUNDS.partition_point(|(bound, _)| *bound < us)] += times;
        self.sum_us = self.sum_us.saturating_add(us.saturating_mul(times));
    }

    /// Counts what another one has counted.
    pub fn add(&mut self, more: &Histogram) {
        self.counts.iter_mut().zip(more.counts).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self.sum_us = self.sum_us.saturating_add(more.sum_us);
    }

    /// For each bound, in order, how many observations were at most that.
    pub fn cumulative(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let bounds = BOUNDS.iter().map(|(_, seconds)| *seconds).chain(["+Inf"]);
        let sums = self.counts.iter().scan(0, |sum: &mut u64, count| {
            *sum = sum.saturating_add(*count);
            Some(*sum)
        });
        bounds.zip(sums)
    }

    /// All observations.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The sum of all observations, in microseconds.
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bucket that counts an observation.
    fn check(us: u64, expect: &str) {
        let mut histogram = Histogram::default();
        histogram.observe(us, 3);
        let first = histogram.cumulative().find(|(_, count)| *count > 0);
        assert_eq!(first, Some((expect, 3)), "{us} us");
        assert_eq!((histogram.count(), histogram.sum_us()), (3, us.saturating_mul(3)));
    }

    #[test]
    fn an_observation_is_at_most_the_bound_of_its_bucket() {
        check(0, "0.000001");
        check(1, "0.000001");
        check(3, "0.000005");
        check(100, "0.0001");
        check(101, "0.00025");
        check(1_000_000, "1");
        check(1_000_001, "+Inf");
        check(u64::MAX, "+Inf");
    }

    #[test]
    fn bounds_in_seconds_are_those_in_microseconds() {
        for (us, seconds) in BOUNDS {
            assert_eq!((seconds.parse::<f64>().unwrap() * 1e6).round() as u64, us);
        }
    }

    #[test]
    fn sums_over_shards_are_sums_of_buckets() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        one.observe(3, 1);
        other.observe(400, 2);
        one.add(&other);
        assert_eq!((one.count(), one.sum_us()), (3, 803));
        assert_eq!(one.cumulative().last(), Some(("+Inf", 3)));
    }
}
