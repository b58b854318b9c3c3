//! When a call is made again. A check that may have been charged never is.
//!
//! | outcome | again? |
//! |---|---|
//! | decided, `full`, `invalid` | no |
//! | `wrong_owner` | at the node that it names, and again if that one names another by a newer epoch |
//! | `wrong_owner` by an older epoch than the known one | after a moment: that node is about to learn better |
//! | `moving` | after the wait that it names |
//! | never sent, and a connection is just coming up | when it is up |
//! | connection lost | when it is up, if the call does the same when it is done twice; else no: it was sent |
//! | `overloaded`, `unavailable` | after a moment, if the call does the same when it is done twice; else no |
//! | timeout | no: the deadline has passed |
//!
//! What does the same when done twice: a reserve, which its id tells apart, a settle, an acquire and a release, a reset.
//! All of it within the deadline of the first attempt.

use std::sync::Arc;
use std::time::Duration;

use tallyring_protocol::{KeyRef, Request};
use tokio::time::{sleep_until, timeout_at};

use crate::connection::{Call, Connection, Outcome, Timing};
use crate::definition::LimitHandle;
use crate::error::StoreError;
use crate::router::Router;
use crate::sys::clock::{self, Instant};

/// Attempts of one call after the first. The deadline ends a call; this bounds how often it can knock until then.
const ATTEMPTS_MAX: u32 = 5;

/// The shortest time before an overloaded store is asked again, in microseconds; the longest is twice that.
const PAUSE_US: u64 = 500;

/// Whether a request that is carried out twice does what it does once.
fn is_repeatable(request: &Request<'_>) -> bool {
    use Request::*;
    matches!(request, Reserve(_) | Settle(_) | Acquire(_) | Release(_) | Reset(_))
}

/// A call that did not succeed at once.
pub(crate) struct Reroute<'a> {
    pub(crate) router: &'a Router,
    pub(crate) key: KeyRef<'a>,
    pub(crate) request: Request<'a>,
    pub(crate) limits: &'a [&'a LimitHandle],
    pub(crate) deadline: Instant,
}

impl Reroute<'_> {
    /// Whether an error is of a kind that another attempt of this request may help.
    #[inline]
    pub(crate) fn helps(error: &StoreError, request: &Request<'_>) -> bool {
        match error {
            StoreError::Unreachable | StoreError::WrongOwner { .. } | StoreError::Moving { .. } => true,
            StoreError::ConnectionLost | StoreError::Overloaded | StoreError::Unavailable => is_repeatable(request),
            _ => false,
        }
    }

    /// Tries again as long as it may help, from the first attempt's `error` on.
    pub(crate) async fn run(&self, mut error: StoreError) -> Outcome {
        let (mut named, mut named_by) = (None, None);
        for _ in 0..ATTEMPTS_MAX {
            let connection = match &error {
                StoreError::WrongOwner { epoch, .. } if self.router.epoch() > Some(*epoch) => {
                    self.sleep(self.pause_us()).await.then(|| self.router.owner(self.key).ok()).flatten()
                }
                // Two nodes that name each other are mending their views: only a newer word is followed.
                StoreError::WrongOwner { epoch, node, address } if named_by < Some(*epoch) => {
                    let owner = self.router.named(self.key, *node, address);
                    named_by = Some(*epoch);
                    named = Some(Arc::clone(&owner));
                    Some(owner)
                }
                StoreError::Moving { retry_us } if self.sleep(*retry_us).await => self.router.owner(self.key).ok(),
                StoreError::Unreachable | StoreError::ConnectionLost => self.coming_up(named.as_ref()).await,
                StoreError::Overloaded | StoreError::Unavailable if self.sleep(self.pause_us()).await => {
                    self.router.owner(self.key).ok()
                }
                _ => None,
            };
            let Some(connection) = connection else { return Err(error) };
            error = match self.attempt(&connection).await {
                Err(error) if Reroute::helps(&error, &self.request) => error,
                outcome => return outcome,
            };
        }
        Err(error)
    }

    async fn attempt(&self, connection: &Connection) -> Outcome {
        let timing = Timing { now: clock::now(), deadline: self.deadline };
        Call::new(connection, self.request, self.limits, timing).await
    }

    /// How long to leave an overloaded store alone, in microseconds: no two callers come back together.
    fn pause_us(&self) -> u64 {
        PAUSE_US + self.router.gateway().random().up_to(PAUSE_US)
    }

    /// Sleeps for `wait_us` microseconds, unless the deadline comes first.
    async fn sleep(&self, wait_us: u64) -> bool {
        let Some(until) = clock::now().checked_add(Duration::from_micros(wait_us)) else { return false };
        let is_worth_it = until < self.deadline;
        if is_worth_it {
            sleep_until(until).await;
        }
        is_worth_it
    }

    /// Waits for the connection to the owner, or to the `named` node, if it is coming up just now.
    async fn coming_up(&self, named: Option<&Arc<Connection>>) -> Option<Arc<Connection>> {
        let _leave = self.router.gateway().may_wait()?;
        loop {
            let mut change = std::pin::pin!(self.router.gateway().change());
            change.as_mut().enable(); // from here on no change is missed
            match named.cloned().ok_or(StoreError::Unreachable).or_else(|_| self.router.owner(self.key)) {
                Ok(connection) if connection.is_up() => return Some(connection),
                Ok(connection) if !connection.may_come_up() => return None,
                Err(_) if !self.router.gateway().is_hopeful() => return None,
                Ok(_) | Err(_) => timeout_at(self.deadline, change).await.ok()?,
            }
        }
    }
}
