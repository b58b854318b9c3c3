//! Connections that talk to one target at once: in a closed loop, or at a fixed rate.

mod talk;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::arrivals::Arrivals;
use super::connection::Connection;
use super::dialect::Dialect;
use super::error::BenchError;
use super::feed::Feed;
use super::round::{Round, Stopwatch};
use super::tally::Tally;
use super::target::Target;
use talk::Talk;

/// How long answers are waited for when the last call was due. What is still out then counts as that late.
pub(super) const ANSWERS_WAIT_MAX: Duration = Duration::from_secs(5);

/// A target, and in which words it is asked.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) target: Rc<Target>,
    pub(super) dialect: Rc<Dialect>,
    /// Connections at once.
    pub(super) connections: u32,
}

impl Line {
    async fn open(&self) -> Result<Vec<Connection>, BenchError> {
        let mut opened = Vec::new();
        for _ in 0..self.connections {
            opened.push(Connection::open(&self.target, &self.dialect).await?);
        }
        Ok(opened)
    }

    /// A closed loop: every connection asks `pipeline` calls of what its feed asks, waits, asks on. `feed` makes the feed
    /// of a connection, by its number, at the moment when all are open. The first that fails ends the round.
    pub(super) async fn converse<F: Feed + 'static>(
        &self,
        pipeline: usize,
        mut feed: impl FnMut(u32, Instant) -> F,
    ) -> Result<Round, BenchError> {
        let opened = self.open().await?;
        let tally = Rc::new(RefCell::new(Tally::new()));
        let watch = Stopwatch::start(&self.target);
        let mut talks = JoinSet::new();
        for (mut connection, number) in opened.into_iter().zip(0..) {
            let (Line { target, dialect, .. }, tally) = (self.clone(), tally.clone());
            let mut feed = feed(number, watch.started);
            talks.spawn_local(
                async move { connection.converse((&target, &dialect), &mut feed, pipeline, &tally).await },
            );
        }
        while let Some(talk) = talks.join_next().await {
            talk.expect("nobody cancels a talk, and its panic is ours")?;
        }
        Ok(watch.stop(tally.replace(Tally::new()), None))
    }

    /// An open loop: calls are said when they are due, by one connection after the other, whatever has been answered.
    ///
    /// A decision's latency is the time from the moment its call was due until its bytes had been read. So a target that
    /// stops for a while is charged with every call that would have come meanwhile ("coordinated omission" is not left
    /// out), and so is the generator: how late it was itself is noted beside.
    pub(super) async fn pace(&self, arrivals: Arrivals, mut feed: impl Feed) -> Result<Round, BenchError> {
        let step = u64::from(self.connections);
        let opened = self.open().await?.into_iter().zip(0..);
        let mut talks: Vec<Talk> = opened.map(|(connection, number)| Talk::new(connection, number, step)).collect();
        let mut tally = Tally::new();
        let watch = Stopwatch::start(&self.target);
        let patience = arrivals.length() + ANSWERS_WAIT_MAX;
        let mut is_over = false;
        while !is_over && watch.started.elapsed() < patience {
            is_over = true;
            for talk in &mut talks {
                talk.say_due(self, &arrivals, watch.started, &mut feed, &mut tally)?;
                talk.hear(self, &mut tally)?;
                is_over &= talk.is_over(&arrivals);
            }
            tokio::task::yield_now().await; // the runtime looks which sockets have something
        }
        talks.iter_mut().for_each(|talk| talk.give_up(&arrivals, watch.started, &mut tally));
        Ok(watch.stop(tally, Some(arrivals.calls_per_s)))
    }
}
