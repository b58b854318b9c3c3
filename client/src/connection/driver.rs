//! The driver: the task that owns one connection's socket.
//!
//! Each time it wakes it tells callers the answers that came, writes what callers have encoded meanwhile, and times out
//! who has waited long enough. One timer serves every deadline of the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tallyring_protocol::{Reply, RulesVersion, Topology};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::answer::outcome;
use super::backoff::{self, Backoff};
use super::handshake::{self, Ended, Session};
use super::inbound::Inbound;
use super::pipe::State;
use super::slots::{CallId, Delivery};
use super::{Connection, Endpoint};
use crate::gateway::Gateway;
use crate::sys::clock::{self, Instant};
use crate::sys::net::Stream;

/// An idle connection is asked this often whether its peer still lives.
const PING_EVERY: Duration = Duration::from_secs(1);

/// A peer that owes answers and says nothing for this long is gone, whatever the socket claims.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// Reads between two looks at the rest: more would let a fast store hold up the requests.
const READS_MAX: usize = 8;

/// Connects, drives the connection until it ends, and starts again, until the connection is closed.
pub(crate) async fn keep(connection: Arc<Connection>, gateway: Arc<Gateway>) {
    let mut backoff = Backoff::new(gateway.random());
    let mut is_told = false; // once a connection: a wrong token stays wrong at every attempt
    while !connection.is_closed() {
        let Endpoint { address, shard } = connection.endpoint();
        let ended = match handshake::open(address, *shard, &gateway).await {
            Ok(session) => drive(&connection, session, &gateway, &mut backoff).await,
            Err(refused) => {
                connection.pipe.lock().failed_to_connect();
                gateway.announce_change();
                refused
            }
        };
        tracing::debug!(address, shard, reason = %ended, "not connected to the store");
        if ended.is_lasting() {
            if !std::mem::replace(&mut is_told, true) {
                tracing::warn!(address, reason = %ended, "the store and this gateway do not come together");
            }
            backoff.stop_hurrying();
        }
        rest(&connection, backoff.next_wait()).await;
    }
}

async fn drive(connection: &Connection, session: Session, gateway: &Gateway, backoff: &mut Backoff) -> Ended {
    let started = clock::now();
    let mut driver = Driver::start(connection, session, gateway);
    let ended = match driver.take_frames(started) {
        Ok(()) => driver.await,
        Err(ended) => ended,
    };
    // A peer that welcomes and hangs up is not back: only a connection that lasted makes the next one hurry.
    if clock::now() - started >= backoff::WAIT_MAX {
        backoff.reset();
    }
    ended
}

async fn rest(connection: &Connection, wait: Duration) {
    tokio::select! {
        biased;
        () = connection.closing.notified() => {}
        () = tokio::time::sleep(wait) => {}
    }
}

/// One session of a connection. As a future it ends with the session; dropped, it fails the calls under way.
struct Driver<'a> {
    connection: &'a Connection,
    gateway: &'a Gateway,
    stream: Stream,
    inbound: Inbound,
    writing: Vec<u8>,
    written: usize,
    has_yielded: bool,
    timer: Pin<Box<Sleep>>,
    /// When the peer last said something, or began to owe an answer.
    heard: Instant,
    /// Whether it owed an answer when that was last looked at.
    owes: bool,
    /// Callers to wake once the lock is released.
    wake: Vec<Waker>,
    /// The topology that was pushed last, in JSON.
    pushed: Option<Vec<u8>>,
    /// The rules that were announced last.
    announced: Option<RulesVersion>,
}

impl<'a> Driver<'a> {
    fn start(connection: &'a Connection, session: Session, gateway: &'a Gateway) -> Driver<'a> {
        let Session { stream, inbound, welcome } = session;
        tracing::debug!(address = connection.endpoint.address, ?welcome, "connected to the store");
        connection.pipe.lock().welcomed();
        gateway.announce_change();
        let now = clock::now();
        Driver {
            connection,
            gateway,
            stream,
            inbound,
            writing: Vec::new(),
            written: 0,
            has_yielded: false,
            timer: Box::pin(tokio::time::sleep_until(now + PING_EVERY)),
            heard: now,
            owes: false,
            wake: Vec::new(),
            pushed: None,
            announced: None,
        }
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Result<(), Ended> {
        self.read(cx)?;
        self.write(cx)?;
        self.keep_time(cx)
    }

    /// Reads what the socket holds and delivers it.
    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), Ended> {
        for _ in 0..READS_MAX {
            let mut spare = ReadBuf::new(self.inbound.spare());
            let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(cx, &mut spare) else { return Ok(()) };
            read?;
            let len = spare.filled().len();
            if len == 0 {
                return Err(Ended::Eof);
            }
            self.inbound.filled(len);
            self.take_frames(clock::now())?;
        }
        cx.waker().wake_by_ref(); // there may be more to read, and nobody would say so
        Ok(())
    }

    /// Delivers every whole frame that has arrived by `now`.
    fn take_frames(&mut self, now: Instant) -> Result<(), Ended> {
        self.heard = now;
        let delivered = self.deliver_frames(now);
        self.wake.drain(..).for_each(Waker::wake);
        if let Some(json) = self.pushed.take() {
            self.gateway.learn(Topology::from_json(&json)?);
        }
        self.announced.take().into_iter().for_each(|version| self.gateway.announce_rules(version));
        delivered
    }

    fn deliver_frames(&mut self, now: Instant) -> Result<(), Ended> {
        let mut pipe = self.connection.pipe.lock();
        while let Some((frame, len)) = self.inbound.frame()? {
            match frame.id {
                0 => match Reply::decode(&frame) {
                    Ok(Reply::Topology(json)) => self.pushed = Some(json.into_owned()),
                    Ok(Reply::RulesVersion(version)) => self.announced = Some(version),
                    Ok(Reply::Goodbye { code, reason }) => {
                        return Err(Ended::Goodbye { code, reason: reason.into_owned() });
                    }
                    Ok(_) | Err(_) => {} // what a later server may push: nobody waits for it
                },
                CallId::END.. => match Reply::decode(&frame) {
                    Ok(Reply::Defined) => {}
                    refusal => pipe.undefine(frame.id - CallId::END, &refusal),
                },
                id => match pipe.answer(CallId::from_wire(id), outcome(Reply::decode(&frame)), now) {
                    Delivery::InTime(waker) => self.wake.push(waker),
                    Delivery::Late | Delivery::Unknown => {}
                },
            }
            self.inbound.consume(len);
        }
        Ok(())
    }

    /// Writes what callers have encoded.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), Ended> {
        while self.written < self.writing.len() || self.refill(cx.waker()) {
            let rest = &self.writing[self.written..];
            let Poll::Ready(written) = Pin::new(&mut self.stream).poll_write(cx, rest) else { return Ok(()) };
            match written? {
                0 => return Err(Ended::Eof),
                len => self.written += len,
            }
        }
        // What is encrypted may still be on its way to the socket; a plain stream has nothing to do.
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(flushed) => Ok(flushed?),
            Poll::Pending => Ok(()),
        }
    }

    /// Takes the callers' bytes if there are any; but first lets every other task run that is ready.
    ///
    /// The first caller of many wakes this task, and a work-stealing runtime runs it next: it would write one request a
    /// syscall. One turn later all callers that got their answers together have encoded their next requests.
    fn refill(&mut self, waker: &Waker) -> bool {
        let mut pipe = self.connection.pipe.lock();
        if !pipe.has_outbound() {
            self.has_yielded = false;
            return false;
        }
        self.has_yielded = !self.has_yielded;
        if self.has_yielded {
            waker.wake_by_ref();
            return false;
        }
        self.writing.clear();
        self.written = 0;
        pipe.swap_outbound(&mut self.writing);
        true
    }

    /// Does what is due, and sees to being woken when the next thing is.
    fn keep_time(&mut self, cx: &mut Context<'_>) -> Result<(), Ended> {
        let due = self.sleep_until(cx.waker())?;
        if due < self.timer.deadline() {
            self.timer.as_mut().reset(due);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            self.tick(clock::now(), cx.waker())?;
            let due = self.sleep_until(cx.waker())?;
            self.timer.as_mut().reset(due);
        }
        Ok(())
    }

    /// Tells callers whom to wake, and says when the next thing is due if they do not.
    fn sleep_until(&mut self, waker: &Waker) -> Result<Instant, Ended> {
        let mut pipe = self.connection.pipe.lock();
        let next_deadline = pipe.next_deadline();
        if pipe.state() == State::Closed && next_deadline.is_none() {
            return Err(Ended::Closed);
        }
        pipe.driver_sleeps(waker);
        let owes = pipe.unanswered() > 0;
        drop(pipe);
        if owes && !self.owes {
            self.heard = clock::now();
        }
        self.owes = owes;
        let due = self.heard + if owes { SILENCE_MAX } else { PING_EVERY };
        Ok(next_deadline.map_or(due, |deadline| deadline.min(due)))
    }

    /// Times calls out, asks an idle peer whether it lives, gives up a silent one.
    fn tick(&mut self, now: Instant, waker: &Waker) -> Result<(), Ended> {
        let mut pipe = self.connection.pipe.lock();
        pipe.expire(now, &mut self.wake);
        if !self.owes && now >= self.heard + PING_EVERY {
            pipe.ping(now);
            waker.wake_by_ref(); // to write it
        }
        drop(pipe);
        self.wake.drain(..).for_each(Waker::wake);
        if self.owes && now >= self.heard + SILENCE_MAX { Err(Ended::Silent) } else { Ok(()) }
    }
}

impl Future for Driver<'_> {
    type Output = Ended;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        match self.get_mut().step(cx) {
            Ok(()) => Poll::Pending,
            Err(ended) => Poll::Ready(ended),
        }
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        self.connection.pipe.lock().lost(&mut self.wake);
        self.wake.drain(..).for_each(Waker::wake);
    }
}
