//! Metrics in Prometheus' text format 0.0.4.
//!
//! Labels are shards, rules and outcomes alone: nothing that a request could make grow.

use std::fmt::{Display, Write};

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

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("writing to a string cannot fail");
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
}
