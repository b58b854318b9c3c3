//! What other threads have for a connection: replies to requests that another shard decided, and pushes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use crossbeam::queue::SegQueue;
use smallvec::SmallVec;
use tallyring_engine::Stock;
use tallyring_protocol::{GoodbyeCode, Reply};
use tokio::sync::Notify;

/// Something to be written to a connection by the task that owns it.
#[derive(Debug)]
pub enum Outgoing {
    /// The reply of another shard to the request with this id.
    Reply(u32, Reply<'static>),
    /// The reply of another shard to a reserve, and the ceiling that it was charged under: a reserve that repeats the
    /// first one says what that was told, whatever the limit is by now.
    Reserved(u32, Reply<'static>, u64),
    /// What is left of a key's budgets, for the look with this id.
    Stocks(u32, Vec<Stock>),
    /// A frame that nobody asked for, already encoded: the same bytes serve every connection.
    Push(Bytes),
    /// The connection is to end: say why, answer what is still asked for a moment, close.
    Goodbye(GoodbyeCode, &'static str),
}

/// The way to a connection from other threads.
///
/// Bounded by what is put in: a session forwards no more than `FORWARDS_MAX` requests
/// at once, each is answered once, and pushes are rare.
#[derive(Debug, Default)]
pub struct Outlet {
    queue: SegQueue<Outgoing>,
    wake: Notify,
    /// The tick of its shard in which the connection last asked for something.
    heard: AtomicU64,
}

impl Outlet {
    /// Leaves something for the connection and wakes it.
    pub fn push(&self, outgoing: Outgoing) {
        self.leave(outgoing);
        self.wake();
    }

    /// Leaves something that the connection is woken for a little later.
    pub fn leave(&self, outgoing: Outgoing) {
        self.queue.push(outgoing);
    }

    /// Wakes the connection.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Takes the oldest, if there is one.
    pub fn pop(&self) -> Option<Outgoing> {
        self.queue.pop()
    }

    /// Waits until there may be something.
    pub async fn arrival(&self) {
        self.wake.notified().await;
    }

    /// The connection has asked for something in this tick of its shard.
    pub fn hear(&self, tick: u64) {
        self.heard.store(tick, Ordering::Relaxed);
    }

    /// The tick in which it last did.
    pub fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }
}

/// Connections that were answered, and are woken when this is dropped. Woken for the first answer, a thread that shares our
/// processor would take it away from us before the second.
#[derive(Debug, Default)]
pub struct Answered(SmallVec<[Arc<Outlet>; 8]>);

impl Answered {
    /// Something was left for this one.
    pub fn add(&mut self, outlet: Arc<Outlet>) {
        let is_known = self.0.last().is_some_and(|last| Arc::ptr_eq(last, &outlet));
        if !is_known {
            self.0.push(outlet);
        }
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.iter().for_each(|outlet| outlet.wake());
    }
}
