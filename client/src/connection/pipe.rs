//! What the callers and the driver of one connection share, behind its lock.

use std::task::{Poll, Waker};

use tallyring_protocol::{Malformed, Reply, Request};

use super::slots::{CallId, Delivery, Slots};
use super::{Outcome, Timing};
use crate::breaker::Breaker;
use crate::definition::LimitHandle;
use crate::error::StoreError;
use crate::sys::clock::Instant;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// New, or lost a moment ago; the first attempt has not failed.
    Connecting,
    /// Calls can be sent.
    Up,
    /// An attempt has failed; there will be others.
    Down,
    /// Its node has left: no more calls.
    Closed,
}

/// The shared half of a connection.
#[derive(Debug)]
pub(crate) struct Pipe {
    state: State,
    outbound: Vec<u8>,
    slots: Slots,
    /// By handle: the version of the limit that this connection knows under it; 0 = none.
    defined: Vec<u32>,
    breaker: Breaker,
    /// Set while the driver sleeps and would not notice new requests by itself.
    driver: Option<Waker>,
}

/// A call that was put on its way.
#[derive(Debug)]
pub(crate) struct Started {
    /// The call.
    pub(crate) id: CallId,
    /// The driver, if it has to be woken.
    pub(crate) driver: Option<Waker>,
}

impl Pipe {
    /// A pipe that is connecting.
    pub(crate) fn new(in_flight_max: usize) -> Pipe {
        Pipe {
            state: State::Connecting,
            outbound: Vec::new(),
            slots: Slots::new(in_flight_max),
            defined: Vec::new(),
            breaker: Breaker::closed(),
            driver: None,
        }
    }

    /// Where it is in its life.
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Takes a slot and encodes `request`, behind the definitions of its limits that this connection has not seen.
    ///
    /// # Errors
    /// Those that say that nothing was sent.
    #[inline]
    pub(crate) fn start(
        &mut self,
        request: &Request<'_>,
        limits: &[&LimitHandle],
        timing: Timing,
        waker: &Waker,
    ) -> Result<Started, StoreError> {
        if self.state != State::Up {
            return Err(StoreError::Unreachable);
        }
        if !self.slots.has_room() {
            return Err(StoreError::Busy);
        }
        if !self.breaker.admits(timing.now) {
            return Err(StoreError::BreakerOpen);
        }
        limits.iter().for_each(|limit| self.define(limit));
        let id = self.slots.start(timing.deadline, waker.clone());
        request.encode(id.to_wire(), &mut self.outbound);
        Ok(Started { id, driver: self.driver.take() })
    }

    /// Why [`start`](Pipe::start) would fail at `now`, if no wait for the connection could help.
    pub(crate) fn refuses(&self, now: Instant) -> Option<StoreError> {
        match self.state {
            State::Down | State::Closed => Some(StoreError::Unreachable),
            State::Up if self.breaker.rests(now) => Some(StoreError::BreakerOpen),
            State::Up | State::Connecting => None,
        }
    }

    #[inline]
    fn define(&mut self, limit: &LimitHandle) {
        let handle = usize::from(limit.handle());
        if self.defined.get(handle) == Some(&limit.version()) {
            return;
        }
        if self.defined.len() <= handle {
            self.defined.resize(handle + 1, 0);
        }
        self.defined[handle] = limit.version();
        // The id says which definition an answer is about. It is no call's, so it takes no slot.
        let id = CallId::END | u32::from(limit.handle());
        Request::Define(limit.to_wire()).encode(id, &mut self.outbound);
    }

    /// The store did not take the definition of this handle: the next call defines it again.
    pub(crate) fn undefine(&mut self, handle: u32, refusal: &Result<Reply<'_>, Malformed>) {
        tracing::warn!(handle, ?refusal, "the store refuses a limit");
        if let Some(version) = self.defined.get_mut(handle as usize) {
            *version = 0;
        }
    }

    /// Asks whether anybody is there, unless there is no room for one more question.
    pub(crate) fn ping(&mut self, now: Instant) {
        if self.slots.has_room() {
            let id = self.slots.start_unattended(now);
            Request::Ping.encode(id.to_wire(), &mut self.outbound);
        }
    }

    /// The outcome of a call, if it has one.
    #[inline]
    pub(crate) fn poll(&mut self, id: CallId, waker: &Waker) -> Poll<Outcome> {
        self.slots.poll(id, waker)
    }

    /// A caller goes away.
    pub(crate) fn abandon(&mut self, id: CallId) {
        self.slots.abandon(id);
    }

    /// Delivers an answer that came at `now`.
    #[inline]
    pub(crate) fn answer(&mut self, id: CallId, outcome: Outcome, now: Instant) -> Delivery {
        let failed = outcome.as_ref().is_err_and(StoreError::is_failure);
        let delivery = self.slots.answer(id, outcome);
        match delivery {
            Delivery::InTime(_) if failed => self.breaker.failed(now),
            Delivery::InTime(_) => self.breaker.succeeded(),
            Delivery::Late | Delivery::Unknown => {} // its timeout was counted already
        }
        delivery
    }

    /// Times out every call whose deadline has passed.
    pub(crate) fn expire(&mut self, now: Instant, wake: &mut Vec<Waker>) {
        while let Some(waker) = self.slots.expire_one(now) {
            self.breaker.failed(now);
            wake.push(waker);
        }
    }

    /// The earliest deadline that somebody waits for.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.slots.next_deadline()
    }

    /// Answers that the store owes.
    pub(crate) fn unanswered(&self) -> usize {
        self.slots.unanswered()
    }

    /// Whether there are bytes to write.
    pub(crate) fn has_outbound(&self) -> bool {
        !self.outbound.is_empty()
    }

    /// Takes the bytes to write and leaves `empty` in their place, so that two buffers do for ever.
    pub(crate) fn swap_outbound(&mut self, empty: &mut Vec<u8>) {
        assert!(empty.is_empty(), "what is still to be written must not be lost");
        std::mem::swap(&mut self.outbound, empty);
    }

    /// The driver goes to sleep: the next call wakes it.
    pub(crate) fn driver_sleeps(&mut self, waker: &Waker) {
        self.driver = Some(waker.clone());
    }

    /// The store has said welcome.
    pub(crate) fn welcomed(&mut self) {
        if self.state != State::Closed {
            self.state = State::Up;
        }
        self.breaker = Breaker::closed();
    }

    /// The connection is lost: every call under way fails, and the next connection knows no limits.
    pub(crate) fn lost(&mut self, wake: &mut Vec<Waker>) {
        if self.state != State::Closed {
            self.state = State::Connecting;
        }
        while let Some(waker) = self.slots.lose_one() {
            wake.push(waker);
        }
        self.slots.forgive();
        self.outbound.clear();
        self.defined.clear();
        self.driver = None;
    }

    /// An attempt to connect has failed.
    pub(crate) fn failed_to_connect(&mut self) {
        if self.state != State::Closed {
            self.state = State::Down;
        }
    }

    /// No more calls; returns the driver, if it has to be woken.
    pub(crate) fn close(&mut self) -> Option<Waker> {
        self.state = State::Closed;
        self.driver.take()
    }
}
