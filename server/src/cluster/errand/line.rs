//! A line to another node: errands go out in the order in which they came, answers come back in any.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;

use bytes::BytesMut;
use tallyring_engine::PARTS_MAX;
use tallyring_protocol::{Malformed, NodeId, Reply};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::frame::{self, ITEMS_MAX, READ_BYTES, WRITE_BYTES};
use super::owed::Owed;
use super::vocabulary::Spoken;
use super::window::Window;
use super::wire::answer::Answers;
use super::wire::order::{Asked, Bundle, Order};
use super::{DOWN_FOR, ERRAND_WITHIN, LINE_IDLE, QUEUE_MAX};
use crate::cluster::peer::frame::FrameError;
use crate::cluster::peer::hello::{Introduction, Purpose};
use crate::cluster::peer::line::{CallError, call};
use crate::observe::errand::ErrandTally;
use crate::shard::command::{Errand, KeyQuota};
use crate::shard::outlet::Answered;
use crate::sys::net::Stream;

/// An errand that was not sent yet.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) errand: Errand,
    /// The epoch of the ring that says whose it is.
    pub(super) epoch: u64,
    pub(super) owed: Owed,
}

/// Where a line leads, and who calls.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) node: NodeId,
    pub(super) address: String,
    pub(super) introduction: Introduction,
    pub(super) quota: KeyQuota,
}

/// A line, for the task that runs it and for whoever has errands. Both are of one thread and never hold a part of it across
/// an `await`.
#[derive(Debug)]
pub(super) struct Line {
    queue: RefCell<VecDeque<Load>>,
    window: RefCell<Window>,
    /// There is something to send, or room to send it.
    wake: Notify,
    /// When the other node was last heard of.
    heard: Cell<Instant>,
    /// Until when it is left alone.
    down_until: Cell<Option<Instant>>,
}

/// Why a line has ended.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("an answer makes no sense: {0}")]
    Answer(#[from] Malformed),
    #[error("it has closed the line")]
    Closed,
    #[error("nothing was heard of it for {} ms", ERRAND_WITHIN.as_millis())]
    Silent,
}

impl From<std::io::Error> for LineError {
    fn from(error: std::io::Error) -> LineError {
        LineError::Frame(error.into())
    }
}

impl Line {
    pub(super) fn new() -> Line {
        let (queue, window) = Default::default();
        let (heard, down_until) = (Cell::new(Instant::now()), Cell::new(None));
        Line { queue, window, wake: Notify::new(), heard, down_until }
    }

    /// Takes an errand on, or refuses it at once.
    pub(super) fn add(&self, load: Load) {
        if self.down_until.get().is_some_and(|until| Instant::now() < until) {
            return load.owed.reply(Reply::Unavailable);
        }
        let mut queue = self.queue.borrow_mut();
        if queue.len() == QUEUE_MAX {
            drop(queue);
            return load.owed.reply(Reply::Overloaded);
        }
        queue.push_back(load);
        self.wake.notify_one();
    }

    /// Opens the line when there is an errand, and again when it has broken.
    pub(super) async fn run(&self, route: Route, tally: &ErrandTally) {
        loop {
            self.can_send().await;
            let called = tokio::select! {
                called = timeout(ERRAND_WITHIN, route.call()) => called,
                never = self.only_expire() => match never {},
            };
            match called {
                Ok(Ok(stream)) => {
                    self.is_up(&route);
                    let _open = tally.line(route.node.0);
                    if let Err(error) = self.talk(stream, route.quota).await {
                        tracing::debug!(node = route.node.0, %error, "a line to another node has broken");
                    }
                    self.window.borrow_mut().clear();
                }
                Ok(Err(error)) => self.is_down(&route, &error),
                Err(_) => {
                    let address = route.address.clone();
                    self.is_down(&route, &CallError::Late { address, within: ERRAND_WITHIN });
                }
            }
        }
    }

    fn is_up(&self, route: &Route) {
        self.heard.set(Instant::now());
        if self.down_until.take().is_some() {
            tracing::info!(node = route.node.0, "another node can be reached again");
        }
    }

    /// Nothing was sent: whoever waits is told so, and the node is left alone for a while.
    fn is_down(&self, route: &Route, error: &CallError) {
        if self.down_until.replace(Some(Instant::now() + DOWN_FOR)).is_none() {
            tracing::warn!(node = route.node.0, %error, "another node cannot be reached: its keys are unavailable here");
        }
        self.queue.borrow_mut().clear();
    }

    async fn talk(&self, stream: Stream, quota: KeyQuota) -> Result<(), LineError> {
        let (mut from, mut to) = tokio::io::split(stream);
        tokio::select! {
            ended = self.send(&mut to, quota) => ended,
            ended = self.hear(&mut from) => ended,
            silent = self.keep_watch() => Err(silent),
        }
    }

    /// Sends what has gathered, until there has been nothing for a while.
    async fn send(&self, to: &mut (impl AsyncWrite + Unpin), quota: KeyQuota) -> Result<(), LineError> {
        let (mut spoken, mut out) = (Spoken::new(quota), Vec::new());
        loop {
            if timeout(LINE_IDLE, self.can_send()).await.is_err() {
                if self.window.borrow().is_empty() && self.queue.borrow().is_empty() {
                    return Ok(());
                }
                continue;
            }
            while self.has_next() && out.len() < WRITE_BYTES {
                frame::append(&self.bundle(&mut spoken), &mut out);
            }
            to.write_all(&out).await?;
            to.flush().await?;
            out.clear();
        }
    }

    fn has_next(&self) -> bool {
        !self.queue.borrow().is_empty() && !self.window.borrow().is_full()
    }

    async fn can_send(&self) {
        while !self.has_next() {
            self.wake.notified().await;
        }
    }

    /// The next errands of one epoch; from here on they are sent.
    fn bundle(&self, spoken: &mut Spoken) -> Bundle {
        let (mut queue, mut window) = (self.queue.borrow_mut(), self.window.borrow_mut());
        let epoch = queue.front().map_or(0, |load| load.epoch);
        let (mut orders, now) = (Vec::with_capacity(ITEMS_MAX), Instant::now());
        while orders.len() < ITEMS_MAX && !window.is_full() {
            let Some(Load { errand, owed, .. }) = queue.pop_front_if(|load| load.epoch == epoch) else { break };
            spoken.make_room(PARTS_MAX);
            let within_us = owed.until().saturating_duration_since(now).as_micros() as u32;
            let (asked, id) = (Asked::of(errand, spoken), window.add(owed));
            orders.extend(spoken.fresh());
            orders.push(Order::Do { id, within_us, asked });
        }
        Bundle { epoch, orders }
    }

    /// Takes answers to whoever waits for them.
    async fn hear(&self, from: &mut (impl AsyncRead + Unpin)) -> Result<(), LineError> {
        let mut inbox = BytesMut::new();
        loop {
            inbox.reserve(READ_BYTES);
            if from.read_buf(&mut inbox).await? == 0 {
                return Err(LineError::Closed);
            }
            self.heard.set(Instant::now());
            let mut answered = Answered::default();
            while let Some(Answers(answers)) = frame::split(&mut inbox)? {
                for answer in answers {
                    // Who is not in the window was told long ago that there is no answer.
                    let owed = self.window.borrow_mut().take(answer.id);
                    if let Some(owed) = owed {
                        let outgoing = answer.outgoing(owed.id())?;
                        owed.pay(outgoing, &mut answered);
                    }
                }
            }
            drop(answered);
            self.wake.notify_one();
        }
    }

    /// Lets go of errands whose time is up, until nothing comes back at all.
    async fn keep_watch(&self) -> LineError {
        loop {
            let has_expired = self.expire_next().await;
            if has_expired && self.heard.get().elapsed() >= ERRAND_WITHIN {
                return LineError::Silent;
            }
        }
    }

    /// Waits until somebody's time may be up, and lets go of those whose is; whether any of them had been sent.
    async fn expire_next(&self) -> bool {
        // All may wait for as long: while nobody waits, nobody's time is up sooner than that.
        let next = self.next_expiry().unwrap_or_else(|| Instant::now() + ERRAND_WITHIN);
        sleep_until(next).await;
        let (mut queue, now) = (self.queue.borrow_mut(), Instant::now());
        while queue.pop_front_if(|load| load.owed.until() <= now).is_some() {}
        self.window.borrow_mut().expire(now)
    }

    fn next_expiry(&self) -> Option<Instant> {
        let (sent, waiting) =
            (self.window.borrow().next_expiry(), self.queue.borrow().front().map(|load| load.owed.until()));
        sent.into_iter().chain(waiting).min()
    }

    async fn only_expire(&self) -> Infallible {
        loop {
            self.expire_next().await;
        }
    }
}

impl Route {
    async fn call(&self) -> Result<Stream, CallError> {
        call(&self.introduction, Some(self.node), &self.address, Purpose::Errands).await
    }
}
