//! Metrics in Prometheus' text format 0.0.4.
//!
//! Labels are shards, rules and outcomes alone: nothing that a request could make grow.

use std::fmt::{Display, Write};

use super::histogram::Histogram;

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a family is.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// Only grows; its name ends with `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// Metrics text in the making.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Appends a family: its help, its type, and a sample for each label set.
    pub fn family<'a, V: Display>(
        &mut self,
        name: &str,
        kind: Type,
        help: &str,
        samples: impl IntoIterator<Item = (&'a [(&'a str, &'a str)], V)>,
    ) {
        let kind = match kind {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
        };
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for (labels, value) in samples {
            self.put(format_args!("{name}{} {value}\n", Labels(labels)));
        }
    }

    /// Appends a family of durations: for each label set its buckets, sum and count.
    pub fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (&'a [(&'a str, &'a str)], &'a Histogram)>,
    ) {
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} histogram\n"));
        for (labels, histogram) in samples {
            for (bound, count) in histogram.cumulative() {
                let labels = [labels, &[("le", bound)]].concat();
                self.put(format_args!("{name}_bucket{} {count}\n", Labels(&labels)));
            }
            let (labels, sum, count) = (Labels(labels), Micros(histogram.sum_us()), histogram.count());
            self.put(format_args!("{name}_sum{labels} {sum}\n{name}_count{labels} {count}\n"));
        }
    }

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("writing to a string cannot fail");
    }
}

/// Microseconds, written as seconds.
#[derive(Clone, Copy, Debug)]
pub struct Micros(pub u64);

impl Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// The same, before or after something.
#[derive(Clone, Copy, Debug)]
pub struct SignedMicros(pub i64);

impl Display for SignedMicros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}", Micros(self.0.unsigned_abs()))
    }
}

struct Labels<'a>(&'a [(&'a str, &'a str)]);

impl Display for Labels<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut before = "{";
        for (name, value) in self.0 {
            let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            write!(f, "{before}{name}=\"{value}\"")?;
            before = ",";
        }
        if self.0.is_empty() { Ok(()) } else { f.write_str("}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_help_type_and_samples() {
        let mut text = Exposition::default();
        let hostile = [("rule", "a\"b\\c\nd")];
        text.family("tallyring_x_total", Type::Counter, "Things.", [(&[][..], 1), (&hostile[..], 2)]);
        let expect = "# HELP tallyring_x_total Things.\n# TYPE tallyring_x_total counter\n\
                      tallyring_x_total 1\ntallyring_x_total{rule=\"a\\\"b\\\\c\\nd\"} 2\n";
        assert_eq!(text.finish(), expect);
    }

    #[test]
    fn durations_are_cumulative_buckets_in_seconds() {
        let mut text = Exposition::default();
        let mut histogram = Histogram::default();
        histogram.observe(1_500_000, 2);
        text.histograms("tallyring_x_seconds", "Waits.", [(&[("shard", "0")][..], &histogram)]);
        let text = text.finish();
        let expect = "tallyring_x_seconds_bucket{shard=\"0\",le=\"1\"} 0\n\
                      tallyring_x_seconds_bucket{shard=\"0\",le=\"+Inf\"} 2\n\
                      tallyring_x_seconds_sum{shard=\"0\"} 3.000000\ntallyring_x_seconds_count{shard=\"0\"} 2\n";
        assert!(text.ends_with(expect), "{text}");
        assert!(text.starts_with("# HELP tallyring_x_seconds Waits.\n# TYPE tallyring_x_seconds histogram\n"));
    }
}
