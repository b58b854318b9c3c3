//! A connection: one pipelined socket to one shard, shared by any number of concurrent callers, opened again when lost.
//!
//! A caller takes a slot and encodes its request straight into the outbound buffer, under one short lock. The driver, a
//! task, swaps that buffer and writes it with one syscall, reads what came with another, and tells every caller whose
//! answer was in it. Callers that run at the same time so share syscalls: 64 of them cost two, not 128.
//!
//! ```text
//! callers ──► pipe: outbound bytes ──► driver ──► socket
//!    ▲              slots        ◄──── driver ◄──── socket
//!    └── outcome ◄────┘
//! ```
//!
//! Invariants:
//! - At most `in_flight_max` answers are owed; one call more fails at once, whatever the socket does.
//! - A call ends at its deadline even if the peer is frozen, and a lost connection ends all of its calls.
//! - Nothing is sent twice: what may be asked again is the business of `store`.
//!
//! Not here: which connection a key belongs to (`router`), what an outcome means to a gateway (`limiter`).

mod answer;
mod backoff;
mod call;
mod driver;
pub(crate) mod handshake;
mod inbound;
mod pipe;
mod slots;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) use self::answer::{Answer, Outcome};
pub(crate) use self::backoff::Backoff;
pub(crate) use self::call::{Call, Timing};
pub(crate) use self::handshake::Ended;
use self::pipe::{Pipe, State};
use crate::error::StoreError;
use crate::gateway::Gateway;
use crate::sys::clock::Instant;

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// `host:port` of a native listener.
    pub(crate) address: String,
    /// The shard that it is for.
    pub(crate) shard: u16,
}

/// One pipelined connection; its driver runs until [`Connection::close`].
#[derive(Debug)]
pub(crate) struct Connection {
    endpoint: Endpoint,
    pipe: Mutex<Pipe>,
    closing: Notify,
}

impl Connection {
    /// Starts to connect, and to reconnect whenever the connection is lost. Must run inside a tokio runtime.
    pub(crate) fn open(endpoint: Endpoint, gateway: Arc<Gateway>) -> Arc<Connection> {
        let pipe = Mutex::new(Pipe::new(gateway.config().in_flight_max));
        let connection = Arc::new(Connection { endpoint, pipe, closing: Notify::new() });
        tokio::spawn(driver::keep(Arc::clone(&connection), gateway));
        connection
    }

    /// Where it leads.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Whether calls can be sent now.
    pub(crate) fn is_up(&self) -> bool {
        self.pipe.lock().state() == State::Up
    }

    /// Whether it may be up in a moment: it is new, or was lost just now and has not failed to come back.
    pub(crate) fn may_come_up(&self) -> bool {
        self.pipe.lock().state() == State::Connecting
    }

    /// Why a call would not be sent at `now`, if it surely would not and no wait would help it.
    pub(crate) fn refuses(&self, now: Instant) -> Option<StoreError> {
        self.pipe.lock().refuses(now)
    }

    /// Whether it takes no more calls.
    pub(crate) fn is_closed(&self) -> bool {
        self.pipe.lock().state() == State::Closed
    }

    /// Takes no more calls; those under way end by answer or deadline, then the driver ends.
    pub(crate) fn close(&self) {
        let driver = self.pipe.lock().close();
        self.closing.notify_one();
        driver.into_iter().for_each(std::task::Waker::wake);
    }
}
