//! A connection's socket and its buffers, whatever is spoken over it.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::outlet::Outlet;
use super::spares::Spares;
use crate::sys::net::Stream;

/// A peer that does not read its replies for this long is cut off.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection still answers after it was told to end, for what was already on its way.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How long, and how much, is read from a peer after the last bytes to it, so that closing does not destroy them.
const LINGER_TIMEOUT: Duration = Duration::from_millis(200);
const LINGER_BYTES_MAX: usize = 64 * 1024;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// There are bytes to read, or other threads have left something.
    Arrived,
    /// The peer sends no more.
    Ended,
    /// It lasted as long as it may.
    TimedOut,
}

/// A socket with what was read from it and what is to be written. While nothing is, it holds no buffer.
#[derive(Debug)]
pub(super) struct Socket {
    stream: Stream,
    pub(super) inbox: BytesMut,
    pub(super) outbox: Vec<u8>,
    spares: Rc<Spares>,
}

impl Socket {
    pub(super) fn new(stream: Stream, inbox: BytesMut, spares: Rc<Spares>) -> Socket {
        Socket { stream, inbox, outbox: spares.outbox(), spares }
    }

    /// Waits for bytes or for other threads.
    ///
    /// Whose time is up has it up however much there is to read.
    pub(super) async fn wait(&mut self, outlet: &Outlet, until: Option<Instant>) -> io::Result<Event> {
        if is_past(until) {
            return Ok(Event::TimedOut);
        }
        self.spares.take_outbox(&mut self.outbox);
        let event = async {
            tokio::select! {
                biased;
                read = read(&mut self.stream, &mut self.inbox, &self.spares) => {
                    read.map(|len| if len > 0 { Event::Arrived } else { Event::Ended })
                }
                () = outlet.arrival() => Ok(Event::Arrived),
            }
        };
        let event = match until {
            None => event.await,
            Some(at) => timeout_at(at, event).await.unwrap_or(Ok(Event::TimedOut)),
        };
        self.outbox = self.spares.outbox();
        event
    }

    /// Waits for other threads alone.
    pub(super) async fn wait_for(outlet: &Outlet, until: Option<Instant>) -> Event {
        if is_past(until) {
            return Event::TimedOut;
        }
        match until {
            None => outlet.arrival().await,
            Some(at) => {
                if timeout_at(at, outlet.arrival()).await.is_err() {
                    return Event::TimedOut;
                }
            }
        }
        Event::Arrived
    }

    /// Writes the outbox: one system call unless the peer is slow.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        if self.outbox.is_empty() {
            return Ok(());
        }
        let written = match self.stream.try_write(&self.outbox) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            written => written?,
        };
        if written < self.outbox.len() {
            let write = async {
                self.stream.write_all(&self.outbox[written..]).await?;
                self.stream.flush().await
            };
            timeout(WRITE_TIMEOUT, write).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        }
        self.outbox.clear();
        Ok(())
    }

    /// Writes `parts`, past the outbox, from where they lie.
    pub(super) async fn write(&mut self, parts: [&[u8]; 2], within: Duration) -> io::Result<()> {
        let write = async {
            self.stream.write_all(parts[0]).await?;
            self.stream.write_all(parts[1]).await?;
            self.stream.flush().await
        };
        timeout(within, write).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Ends the connection so that the peer can read what it was last told.
    pub(super) async fn end(&mut self) -> io::Result<()> {
        linger(&mut self.stream).await
    }
}

fn is_past(until: Option<Instant>) -> bool {
    until.is_some_and(|at| at <= Instant::now())
}

/// Reads what there is, into a buffer that is only held when there is something.
async fn read(stream: &mut Stream, inbox: &mut BytesMut, spares: &Spares) -> io::Result<usize> {
    poll_fn(|cx| {
        spares.make_room(inbox);
        let polled = pin!(stream.read_buf(inbox)).poll(cx);
        if polled.is_pending() {
            spares.take_inbox(inbox);
        }
        polled
    })
    .await
}

/// Writes a last word and closes.
pub(super) async fn part(stream: &mut Stream, last_word: &[u8]) -> io::Result<()> {
    timeout(LINGER_TIMEOUT, stream.write_all(last_word)).await??;
    linger(stream).await
}

/// Ends our side and reads what the peer still sends for a moment: closing a socket with unread bytes resets it, and a
/// reset overtakes the last bytes.
async fn linger(stream: &mut Stream) -> io::Result<()> {
    stream.shutdown().await?;
    let drain = async {
        let mut sink = vec![0; 1_024]; // on the heap: every task of a connection is as large as the largest thing it may do
        let mut left = LINGER_BYTES_MAX;
        while left > 0 {
            match stream.read(&mut sink).await {
                Ok(0) | Err(_) => break,
                Ok(len) => left = left.saturating_sub(len),
            }
        }
    };
    let _ = timeout(LINGER_TIMEOUT, drain).await;
    Ok(())
}
