//! What is counted of errands between nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::door::Door;
use super::histogram::Histogram;

/// What became of an errand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its owner has answered.
    Answered,
    /// Whoever was asked does not own the key, or does not know yet that it does.
    Elsewhere,
    /// There was more to do than could be done.
    Overloaded,
    /// No answer came, or the owner cannot be reached.
    Unavailable,
}

impl Fate {
    /// Every fate.
    pub const ALL: [Fate; 4] = [Fate::Answered, Fate::Elsewhere, Fate::Overloaded, Fate::Unavailable];

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        ["answered", "elsewhere", "overloaded", "unavailable"][self as usize]
    }
}

/// Counts of errands, by door and fate, and of the lines that they take. One thread counts, others read.
#[derive(Debug, Default)]
pub struct ErrandTally {
    sent: [[AtomicU64; Fate::ALL.len()]; Door::ALL.len()],
    done: [AtomicU64; Fate::ALL.len()],
    latency: Mutex<Histogram>,
    /// Open lines to each node; one that has none is forgotten, so there are as many as members at most.
    lines: Mutex<BTreeMap<u64, usize>>,
    hosted: AtomicUsize,
}

/// An open line, while it is kept.
#[derive(Debug)]
pub struct OpenLine<'a> {
    tally: &'a ErrandTally,
    node: u64,
}

/// An open line of another node, while it is kept.
#[derive(Debug)]
pub struct HostedLine(Arc<ErrandTally>);

impl ErrandTally {
    /// An errand of a door has come to its end.
    pub fn note(&self, door: Door, fate: Fate, took_us: u64) {
        self.sent[door as usize][fate as usize].fetch_add(1, Ordering::Relaxed);
        if fate == Fate::Answered {
            self.latency.lock().observe(took_us, 1);
        }
    }

    /// An errand of another node has come to its end.
    pub fn done(&self, fate: Fate) {
        self.done[fate as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A line to a node is open.
    pub fn line(&self, node: u64) -> OpenLine<'_> {
        *self.lines.lock().entry(node).or_default() += 1;
        OpenLine { tally: self, node }
    }

    /// A line of another node is open.
    pub fn hosted(self: &Arc<Self>) -> HostedLine {
        self.hosted.fetch_add(1, Ordering::Relaxed);
        HostedLine(Arc::clone(self))
    }

    /// Errands of a door that ended so.
    pub fn sent(&self, door: Door, fate: Fate) -> u64 {
        self.sent[door as usize][fate as usize].load(Ordering::Relaxed)
    }

    /// Errands of other nodes that ended so.
    pub fn received(&self, fate: Fate) -> u64 {
        self.done[fate as usize].load(Ordering::Relaxed)
    }

    /// How long answered errands took, there and back.
    pub fn latency(&self) -> Histogram {
        *self.latency.lock()
    }

    /// Open lines to each node.
    pub fn lines(&self) -> BTreeMap<u64, usize> {
        self.lines.lock().clone()
    }

    /// Open lines of other nodes.
    pub fn hosted_lines(&self) -> usize {
        self.hosted.load(Ordering::Relaxed)
    }
}

impl Drop for OpenLine<'_> {
    fn drop(&mut self) {
        let mut lines = self.tally.lines.lock();
        if let Some(open) = lines.get_mut(&self.node) {
            *open -= 1;
            if *open == 0 {
                lines.remove(&self.node);
            }
        }
    }
}

impl Drop for HostedLine {
    fn drop(&mut self) {
        self.0.hosted.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_a_line_is_no_label() {
        let tally = ErrandTally::default();
        let lines = [tally.line(3), tally.line(3), tally.line(4)];
        assert_eq!(tally.lines(), BTreeMap::from([(3, 2), (4, 1)]));
        drop(lines);
        assert!(tally.lines().is_empty());
    }

    #[test]
    fn only_what_was_answered_took_time() {
        let tally = ErrandTally::default();
        tally.note(Door::Resp, Fate::Answered, 300);
        tally.note(Door::Resp, Fate::Unavailable, 250_000);
        assert_eq!((tally.sent(Door::Resp, Fate::Unavailable), tally.sent(Door::Http, Fate::Answered)), (1, 0));
        assert_eq!((tally.latency().count(), tally.latency().sum_us()), (1, 300));
    }
}
