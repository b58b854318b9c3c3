//! A strict reader of Prometheus' text format 0.0.4, and of its conventions for names.
#![allow(unreachable_pub, reason = "each test file uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};

/// A line with a value.
struct Sample<'a> {
    name: &'a str,
    /// Sorted, and without the `le` of a bucket.
    labels: Vec<(&'a str, String)>,
    le: Option<String>,
    value: &'a str,
}

/// What is wrong with a text; nothing, if it is as it should be.
pub fn faults(text: &str) -> Vec<String> {
    let mut reader = Reader::default();
    if !text.ends_with('\n') {
        reader.fault("", "the last line has no end");
    }
    text.lines().for_each(|line| reader.line(line));
    reader.check_histograms();
    reader.faults
}

/// The families that a text has.
pub fn families(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
}

/// The family of a sample's name, if it is a histogram's part; else the name itself.
pub fn family_of(name: &str) -> &str {
    let part = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
    part.filter(|family| family.ends_with("_seconds")).unwrap_or(name)
}

#[derive(Default)]
struct Reader<'a> {
    faults: Vec<String>,
    helped: BTreeSet<&'a str>,
    kinds: BTreeMap<&'a str, &'a str>,
    /// The family whose lines are being read; one that is over does not come back.
    current: &'a str,
    seen: BTreeSet<String>,
    /// By family and labels: the buckets, and the count.
    buckets: BTreeMap<String, Vec<(String, u64)>>,
    counts: BTreeMap<String, u64>,
}

impl<'a> Reader<'a> {
    fn fault(&mut self, line: &str, what: &str) {
        self.faults.push(format!("{what}: {line}"));
    }

    fn line(&mut self, line: &'a str) {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            self.help(line, rest);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            self.kind(line, rest);
        } else {
            match sample(line) {
                Some(sample) => self.sample(line, &sample),
                None => self.fault(line, "no sample"),
            }
        }
    }

    fn help(&mut self, line: &'a str, rest: &'a str) {
        let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
        if !self.helped.insert(name) {
            self.fault(line, "a second HELP");
        }
        if !help.ends_with('.') {
            self.fault(line, "a HELP that is no sentence");
        }
        self.current = name;
    }

    fn kind(&mut self, line: &'a str, rest: &'a str) {
        let (name, kind) = rest.split_once(' ').unwrap_or((rest, ""));
        if name != self.current {
            self.fault(line, "a TYPE that does not follow its HELP");
        }
        if !["counter", "gauge", "histogram"].contains(&kind) || self.kinds.insert(name, kind).is_some() {
            self.fault(line, "no TYPE, or a second one");
        }
        let is_named_counter = name.ends_with("_total");
        if (kind == "counter") != is_named_counter {
            self.fault(line, "_total is how the name of a counter ends, and only that");
        }
        if kind == "histogram" && !name.ends_with("_seconds") {
            self.fault(line, "a histogram of durations is in seconds");
        }
        let odd_units = ["_ms", "_us", "_milliseconds", "_microseconds", "_kib", "_percent"];
        if !name.starts_with("tallyring_") || odd_units.iter().any(|unit| name.contains(unit)) {
            self.fault(line, "a name begins with ours and is in base units");
        }
    }

    fn sample(&mut self, line: &'a str, sample: &Sample<'a>) {
        let kind = self.kinds.get(self.current).copied().unwrap_or("");
        let family = if kind == "histogram" { family_of(sample.name) } else { sample.name };
        if family != self.current || kind.is_empty() {
            self.fault(line, "a sample outside of its family");
        }
        if !self.seen.insert(format!("{} {:?} {:?}", sample.name, sample.labels, sample.le)) {
            self.fault(line, "a second sample with these labels");
        }
        let is_fit = |value: f64| value.is_finite() && (kind == "gauge" || value >= 0.0);
        if !sample.value.parse().is_ok_and(is_fit) {
            self.fault(line, "no number, or a negative one of a kind that only grows");
        }
        let series = format!("{family} {:?}", sample.labels);
        let value = sample.value.parse().unwrap_or(0);
        match (&sample.le, sample.name.ends_with("_count")) {
            (Some(le), _) => self.buckets.entry(series).or_default().push((le.clone(), value)),
            (None, true) => drop(self.counts.insert(series, value)),
            (None, false) => {}
        }
    }

    fn check_histograms(&mut self) {
        let buckets = std::mem::take(&mut self.buckets);
        for (series, buckets) in buckets {
            let bound = |le: &str| if le == "+Inf" { f64::INFINITY } else { le.parse().unwrap_or(f64::NAN) };
            let are_sorted = buckets.is_sorted_by(|one, next| bound(&one.0) < bound(&next.0) && one.1 <= next.1);
            let last = buckets.last().map(|(le, count)| (le.as_str(), *count));
            if !are_sorted || last != self.counts.get(&series).map(|count| ("+Inf", *count)) {
                self.fault(&series, "buckets do not add up");
            }
        }
    }
}

/// `name{label="value",…} number`, with nothing else.
fn sample(line: &str) -> Option<Sample<'_>> {
    let (head, value) = line.rsplit_once(' ')?;
    let (name, labels) = match head.split_once('{') {
        Some((name, rest)) => (name, labels(rest.strip_suffix('}')?)?),
        None => (head, Vec::new()),
    };
    let is_name = |text: &str| {
        !text.starts_with(|c: char| c.is_ascii_digit())
            && !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let mut labels = labels;
    labels.sort();
    let are_distinct = labels.is_sorted_by(|one, next| one.0 < next.0);
    if !is_name(name) || !are_distinct || !labels.iter().all(|(label, _)| is_name(label) && !label.starts_with("__")) {
        return None;
    }
    let le = labels.iter().position(|(label, _)| *label == "le").map(|at| labels.remove(at).1);
    Some(Sample { name, labels, le, value })
}

/// The labels between the braces.
fn labels(mut rest: &str) -> Option<Vec<(&str, String)>> {
    let mut found = Vec::new();
    loop {
        let (label, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    plain @ ('\\' | '"') => plain,
                    _ => return None,
                }),
                (_, plain) => value.push(plain),
            }
        };
        found.push((label, value));
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return rest.is_empty().then_some(found),
        }
    }
}
