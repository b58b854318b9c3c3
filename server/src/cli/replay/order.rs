//! Requests in the order of time, from logs that are nearly in it.
//!
//! A server writes a line when its response ends, so a log is out of order by as long as responses take. Each log is read
//! five minutes ahead and sorted on the way; several logs are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::entry::Entry;
use super::input::Input;
use super::line::{self, Line};

/// How far a line may be out of order.
const WINDOW_US: u64 = 5 * 60 * 1_000_000;
/// Requests that one log is read ahead at most, however busy it is: some hundred bytes each.
const AHEAD_MAX: usize = 262_144;

/// Characters of a line that are shown if nothing of its log is understood.
const SHOWN_CHARS_MAX: usize = 60;

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Lines that are not empty.
    pub(super) lines: u64,
    /// Lines of no format that is known.
    pub(super) skipped: u64,
    /// Lines that were cut; they count.
    pub(super) cut: u64,
    /// Requests that came more than five minutes late, and were decided then.
    pub(super) late: u64,
    /// Requests whose line says no address.
    pub(super) nowhere: u64,
    /// Logs that could not be read to their end, or of which nothing is understood, and why.
    pub(super) failures: Vec<String>,
}

/// Several logs as one, in the order of time.
pub(super) struct Merge {
    logs: Vec<Log>,
    with_headers: bool,
    latest_us: u64,
    counts: Counts,
}

/// One log, read ahead.
struct Log {
    input: Input,
    ahead: BinaryHeap<Reverse<Ahead>>,
    newest_us: u64,
    /// Of the line before.
    previous_us: u64,
    read: u64,
    unknown: u64,
    /// The first line of no known format, for people.
    first_unknown: String,
    has_ended: bool,
}

/// A request in its place: by time, then by line.
struct Ahead {
    at: (u64, u64),
    entry: Entry,
}

impl Merge {
    pub(super) fn new(inputs: Vec<Input>, with_headers: bool) -> Merge {
        let logs = inputs.into_iter().map(Log::new).collect();
        Merge { logs, with_headers, latest_us: 0, counts: Counts::default() }
    }

    /// The next request.
    pub(super) fn next(&mut self) -> Option<Entry> {
        for log in &mut self.logs {
            log.read_ahead(self.with_headers, &mut self.counts);
        }
        let first = self.logs.iter_mut().filter_map(|log| Some((log.ahead.peek()?.0.at.0, log)));
        let (_, log) = first.min_by_key(|(t_us, _)| *t_us)?;
        let Reverse(Ahead { entry, .. }) = log.ahead.pop()?;
        self.counts.late += u64::from(entry.t_us < self.latest_us);
        self.latest_us = self.latest_us.max(entry.t_us);
        Some(entry)
    }

    /// Bytes read of all logs, as they lie on the disk.
    pub(super) fn bytes_read(&self) -> u64 {
        self.logs.iter().map(|log| log.input.bytes_read()).sum()
    }

    /// What was read altogether.
    pub(super) fn into_counts(self) -> Counts {
        let failures = self.logs.iter().flat_map(|log| log.input.failure().into_iter().chain(log.misfit())).collect();
        Counts { failures, ..self.counts }
    }
}

impl Log {
    fn new(input: Input) -> Log {
        let (ahead, first_unknown) = (BinaryHeap::new(), String::new());
        Log { input, ahead, newest_us: 0, previous_us: 0, read: 0, unknown: 0, first_unknown, has_ended: false }
    }

    /// What to say of a log in which nothing is a request.
    fn misfit(&self) -> Option<String> {
        let Log { input, unknown, first_unknown, .. } = self;
        let formats = "the combined or common log format, or JSON lines that have a time";
        let lines = if *unknown == 1 { "its only line is not" } else { "none of its lines is" };
        (self.read == 0 && *unknown > 0)
            .then(|| format!("{}: {lines} in {formats}; the first is {first_unknown:?}", input.name()))
    }

    /// Reads until the oldest request cannot be preceded by one that is still to come.
    fn read_ahead(&mut self, with_headers: bool, counts: &mut Counts) {
        while !self.has_ended && self.ahead.len() < AHEAD_MAX && !self.is_oldest_known() {
            let Some(line) = self.input.next_line() else {
                self.has_ended = true;
                return;
            };
            counts.lines += 1;
            let (entry, is_cut) = match line::read(&line, with_headers) {
                Line::Request(entry) => (entry, false),
                Line::Cut(entry) => (entry, true),
                Line::Unknown => {
                    counts.skipped += 1;
                    if self.unknown == 0 {
                        self.first_unknown = line.chars().take(SHOWN_CHARS_MAX).collect();
                    }
                    self.unknown += 1;
                    continue;
                }
            };
            counts.cut += u64::from(is_cut);
            counts.nowhere += u64::from(entry.ip.is_none());
            // Two lines have to agree that time has come so far: one with a date of its own must not hurry all others.
            self.newest_us = self.newest_us.max(entry.t_us.min(self.previous_us));
            self.previous_us = entry.t_us;
            self.read += 1;
            self.ahead.push(Reverse(Ahead { at: (entry.t_us, self.read), entry }));
        }
    }

    fn is_oldest_known(&self) -> bool {
        self.ahead.peek().is_some_and(|oldest| oldest.0.at.0 + WINDOW_US < self.newest_us)
    }
}

impl PartialEq for Ahead {
    fn eq(&self, other: &Ahead) -> bool {
        self.at == other.at
    }
}

impl Eq for Ahead {}

impl PartialOrd for Ahead {
    fn partial_cmp(&self, other: &Ahead) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ahead {
    fn cmp(&self, other: &Ahead) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A log of requests at these seconds, by their number in all logs as path.
    fn log(seconds: &[u64]) -> Input {
        let line =
            |second: &u64| format!("{{\"t\":{},\"ip\":\"1.2.3.4\",\"path\":\"/{second}\"}}\n", 1_000_000 + second);
        Input::new("log", Cursor::new(seconds.iter().map(line).collect::<String>()), 0).unwrap()
    }

    fn check(logs: &[&[u64]], expect: &[u64], late: u64) {
        let mut merge = Merge::new(logs.iter().map(|seconds| log(seconds)).collect(), false);
        let seconds = std::iter::from_fn(|| merge.next()).map(|entry| entry.t_us / 1_000_000 - 1_000_000);
        assert_eq!(seconds.collect::<Vec<_>>(), expect, "{logs:?}");
        assert_eq!(merge.into_counts().late, late, "{logs:?}");
    }

    #[test]
    fn lines_are_put_in_order_within_five_minutes() {
        check(&[&[3, 1, 2]], &[1, 2, 3], 0);
        check(&[&[300, 0, 600, 301]], &[0, 300, 301, 600], 0);
        check(&[&[0, 301, 302, 1, 700, 701, 2]], &[0, 1, 301, 302, 2, 700, 701], 1);
        check(&[&[]], &[], 0);
    }

    #[test]
    fn a_line_with_a_date_of_its_own_hurries_no_other() {
        check(&[&[3, 999_999, 1, 303, 2, 304]], &[1, 2, 3, 303, 304, 999_999], 0);
    }

    #[test]
    fn logs_are_merged_in_whatever_order_they_come() {
        check(&[&[1_000, 1_001, 2_000], &[1, 2, 500]], &[1, 2, 500, 1_000, 1_001, 2_000], 0);
        check(&[&[1, 3, 5], &[2, 4, 6], &[]], &[1, 2, 3, 4, 5, 6], 0);
    }

    #[test]
    fn what_was_read_is_counted() {
        let text = "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\nhello\n\n1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /\nhost - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 1\n";
        let mut merge = Merge::new(vec![Input::new("log", Cursor::new(text), 0).unwrap()], false);
        assert_eq!(std::iter::from_fn(|| merge.next()).count(), 3);
        let counts = Counts { lines: 4, skipped: 1, cut: 1, late: 0, nowhere: 1, failures: Vec::new() };
        assert_eq!(merge.into_counts(), counts);
    }
}
