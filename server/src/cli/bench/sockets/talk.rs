//! One connection of an open loop.

use std::collections::VecDeque;
use std::time::Instant;

use super::Line;
use crate::cli::bench::arrivals::Arrivals;
use crate::cli::bench::connection::{self, Connection};
use crate::cli::bench::error::BenchError;
use crate::cli::bench::feed::Feed;
use crate::cli::bench::tally::Tally;

/// Most arrivals that are put into one write: a connection that has fallen behind takes no more from the others' time.
const ARRIVALS_PER_WRITE_MAX: usize = 16;

/// A connection, and what it has said that has not been answered. That is bounded by the plan of arrivals.
#[derive(Debug)]
pub(super) struct Talk {
    connection: Connection,
    /// The number of the next arrival, and how far it is to the one after that.
    next: u64,
    step: u64,
    /// Bytes that the kernel has not taken yet.
    unsaid: Vec<u8>,
    /// When calls without an answer were due, and how many of them there are.
    waiting: VecDeque<(Instant, usize)>,
}

impl Talk {
    pub(super) fn new(connection: Connection, number: u64, step: u64) -> Talk {
        Talk { connection, next: number, step, unsaid: Vec::new(), waiting: VecDeque::new() }
    }

    /// Says what is due.
    #[inline]
    pub(super) fn say_due(
        &mut self,
        line: &Line,
        arrivals: &Arrivals,
        started: Instant,
        feed: &mut impl Feed,
        tally: &mut Tally,
    ) -> Result<(), BenchError> {
        // A connection that is full says nothing new. Its calls stay due from when they were.
        if self.unsaid.is_empty() {
            self.compose(line, arrivals, started, feed, tally);
        }
        if !self.unsaid.is_empty() {
            let said = self.connection.say_now(&line.target, &self.unsaid)?;
            self.unsaid.drain(..said);
        }
        Ok(())
    }

    fn compose(&mut self, line: &Line, arrivals: &Arrivals, started: Instant, feed: &mut impl Feed, tally: &mut Tally) {
        let now = Instant::now();
        for _ in 0..ARRIVALS_PER_WRITE_MAX {
            let Some(due) = arrivals.due(self.next).map(|due| started + due).filter(|due| *due <= now) else { return };
            let calls = std::iter::from_fn(|| feed.next(now)).take(arrivals.batch as usize);
            let count = calls.map(|call| line.dialect.write(call, &mut self.unsaid)).count();
            if count == 0 {
                self.next = arrivals.count; // the feed has no more
                return;
            }
            self.waiting.push_back((due, count));
            tally.lateness.note(now - due, count);
            self.next += self.step;
        }
    }

    /// Counts the answers that are there.
    #[inline]
    pub(super) fn hear(&mut self, line: &Line, tally: &mut Tally) -> Result<(), BenchError> {
        if self.waiting.is_empty() || !self.connection.hear_now(&line.target)? {
            return Ok(());
        }
        let now = Instant::now();
        let mut answered = self.connection.count(&line.target, &line.dialect, tally)?;
        while answered > 0 {
            let Some((due, waiting)) = self.waiting.front_mut() else {
                return Err(connection::unasked(&line.target));
            };
            let of_these = answered.min(*waiting);
            tally.latency.note(now - *due, of_these);
            *waiting -= of_these;
            answered -= of_these;
            if *waiting == 0 {
                self.waiting.pop_front();
            }
        }
        Ok(())
    }

    /// Whether everything has been said and answered.
    pub(super) fn is_over(&self, arrivals: &Arrivals) -> bool {
        self.waiting.is_empty() && self.next >= arrivals.count
    }

    /// Counts what has not been answered, or not even been said, as undecided, and as late as it is now.
    pub(super) fn give_up(&mut self, arrivals: &Arrivals, started: Instant, tally: &mut Tally) {
        let unsaid = (self.next..arrivals.count).step_by(self.step as usize).filter_map(|number| arrivals.due(number));
        self.waiting.extend(unsaid.map(|due| (started + due, arrivals.batch as usize)));
        let now = Instant::now();
        for (due, calls) in self.waiting.drain(..) {
            tally.undecided += calls as u64;
            tally.latency.note(now - due, calls);
        }
    }
}
