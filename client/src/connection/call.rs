//! A call: one request, from its slot to its outcome.

use std::pin::Pin;
use std::task::{Context, Poll};

use tallyring_protocol::Request;

use super::slots::CallId;
use super::{Connection, Outcome};
use crate::definition::LimitHandle;
use crate::sys::clock::Instant;

/// When a call was made and when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// The present.
    pub(crate) now: Instant,
    /// After this nobody waits for the answer any more.
    pub(crate) deadline: Instant,
}

/// A future that is sent when it is first polled and ends at its deadline at the latest. Dropped earlier, it leaks nothing.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    connection: &'a Connection,
    request: Request<'a>,
    limits: &'a [&'a LimitHandle],
    timing: Timing,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Unsent,
    Sent(CallId),
    Over,
}

impl<'a> Call<'a> {
    /// A call of `request` on `connection`; `limits` are those whose handles the request carries.
    pub(crate) fn new(
        connection: &'a Connection,
        request: Request<'a>,
        limits: &'a [&'a LimitHandle],
        timing: Timing,
    ) -> Call<'a> {
        Call { connection, request, limits, timing, state: State::Unsent }
    }

    fn start(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let started = self.connection.pipe.lock().start(&self.request, self.limits, self.timing, cx.waker());
        match started {
            Err(error) => self.end(Err(error)),
            Ok(started) => {
                self.state = State::Sent(started.id);
                started.driver.into_iter().for_each(std::task::Waker::wake);
                Poll::Pending
            }
        }
    }

    fn end(&mut self, outcome: Outcome) -> Poll<Outcome> {
        self.state = State::Over;
        Poll::Ready(outcome)
    }
}

impl Future for Call<'_> {
    type Output = Outcome;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let call = self.get_mut();
        match call.state {
            State::Unsent => call.start(cx),
            State::Sent(id) => {
                let polled = call.connection.pipe.lock().poll(id, cx.waker());
                match polled {
                    Poll::Ready(outcome) => call.end(outcome),
                    Poll::Pending => Poll::Pending,
                }
            }
            State::Over => unreachable!("a future is not polled after its end"),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let State::Sent(id) = self.state {
            self.connection.pipe.lock().abandon(id);
        }
    }
}
