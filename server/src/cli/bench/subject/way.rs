//! Through what a question goes, about some accounts and under one limit.

use std::time::Instant;

use crate::cli::bench::arrivals::Arrivals;
use crate::cli::bench::callers::{Callers, LimitOfStore, Limiter};
use crate::cli::bench::error::BenchError;
use crate::cli::bench::feed::Feed;
use crate::cli::bench::round::Round;
use crate::cli::bench::sockets::Line;

/// Straight into sockets, or by a function call.
#[derive(Clone, Debug)]
pub(super) enum Way {
    Sockets(Line),
    Client(Callers<LimitOfStore>),
    Limiter(Callers<Limiter>),
}

impl Way {
    /// A closed loop: connections that have `pipeline` calls under way each, or so many callers.
    pub(super) async fn converse<F: Feed + 'static>(
        &self,
        pipeline: usize,
        callers: u32,
        feed: impl FnMut(u32, Instant) -> F,
    ) -> Result<Round, BenchError> {
        match self {
            Way::Sockets(line) => line.converse(pipeline, feed).await,
            Way::Client(client) => Ok(client.converse(callers, feed).await),
            Way::Limiter(limiter) => Ok(limiter.converse(callers, feed).await),
        }
    }

    /// How many ask at once in a closed loop.
    pub(super) fn width(&self, callers: u32) -> u32 {
        match self {
            Way::Sockets(line) => line.connections,
            Way::Client(_) | Way::Limiter(_) => callers,
        }
    }

    /// An open loop.
    pub(super) async fn pace(&self, arrivals: Arrivals, feed: impl Feed) -> Result<Round, BenchError> {
        match self {
            Way::Sockets(line) => line.pace(arrivals, feed).await,
            Way::Client(client) => Ok(client.pace(arrivals, feed).await),
            Way::Limiter(limiter) => Ok(limiter.pace(arrivals, feed).await),
        }
    }
}
