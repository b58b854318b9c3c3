//! A native connection on its shard: read, decide, write, until it ends.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tallyring_protocol::reply::Rules;
use tallyring_protocol::{GoodbyeCode, Reply, Role, Welcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};

use super::Shard;
use super::outlet::Outgoing;
use super::rules::Delivery;
use super::session::Session;
use super::turn::Turn;
use crate::sys::net::{Parcel, Stream};

/// Bytes that one read may bring: a deep pipeline in one system call, and no more memory a connection than this.
const READ_BYTES_MAX: usize = 16 * 1024;

/// A peer that does not read its replies for this long is cut off.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A rules document that a peer has not read by then is not read.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection still answers after its goodbye, for what was already on its way.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How long, and how much, is read from a peer after the last frame to it, so that closing does not destroy the frame.
const LINGER_TIMEOUT: Duration = Duration::from_millis(200);
const LINGER_BYTES_MAX: usize = 64 * 1024;

/// A connection that has said hello and is to be served.
pub struct Arrival {
    /// The socket.
    pub parcel: Parcel,
    /// What was read behind the hello.
    pub read_ahead: BytesMut,
    /// What its token entitles it to.
    pub role: Role,
    /// The topology to greet it with, as a frame.
    pub topology: Bytes,
    /// Dropped when the connection ends: whoever accepted it learns of the end that way.
    pub ended: Box<dyn Send>,
}

impl std::fmt::Debug for Arrival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arrival").field("parcel", &self.parcel).field("role", &self.role).finish_non_exhaustive()
    }
}

/// Serves a connection until its peer closes it, breaks it, or the shard drains.
pub(super) async fn serve(shard: Rc<RefCell<Shard>>, arrival: Arrival) {
    let Arrival { parcel, read_ahead, role, topology, ended } = arrival;
    let mut seat = Seat::take(&shard, role);
    if let Ok(stream) = parcel.open() {
        let mut outbox = Vec::with_capacity(1_024);
        shard.borrow().welcome(role).encode(&mut outbox);
        outbox.extend_from_slice(&topology);
        // The seat is taken: of rules published from here on this connection is told as all are.
        outbox.extend_from_slice(&shard.borrow().rules.announcement());
        let mut connection = Connection { stream, inbox: read_ahead, outbox, closing_at: None };
        // An error here is the peer's: it went away. There is nobody left to tell.
        let _ = connection.run(&shard, &mut seat.session).await;
    }
    drop((seat, ended));
}

/// A connection's place in its shard, given up when dropped: also when the task that held it ends early.
struct Seat<'a> {
    shard: &'a RefCell<Shard>,
    ticket: u64,
    session: Session,
}

impl<'a> Seat<'a> {
    fn take(shard: &'a RefCell<Shard>, role: Role) -> Seat<'a> {
        let session = Session::new(role);
        Seat { ticket: shard.borrow_mut().enter(&session), shard, session }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.shard.borrow_mut().leave(self.ticket, &mut self.session);
    }
}

struct Connection {
    stream: Stream,
    inbox: BytesMut,
    outbox: Vec<u8>,
    /// Set by a goodbye: when the connection closes at the latest.
    closing_at: Option<Instant>,
}

impl Connection {
    async fn run(&mut self, shard: &RefCell<Shard>, session: &mut Session) -> io::Result<()> {
        loop {
            let turn = shard.borrow_mut().turn(session, &mut self.inbox, &mut self.outbox);
            self.collect(session);
            if let Err(error) = &turn {
                goodbye(GoodbyeCode::Malformed, &error.to_string(), &mut self.outbox);
            }
            self.flush().await?;
            self.deliver(session).await?;
            match turn {
                Ok(Turn::More) => tokio::task::yield_now().await,
                Ok(Turn::Done) => {
                    if !self.wait(session).await? {
                        return Ok(());
                    }
                }
                Err(_) => return linger(&mut self.stream).await,
            }
        }
    }

    /// Moves what other threads have left into the outbox.
    fn collect(&mut self, session: &mut Session) {
        while let Some(outgoing) = session.outlet.pop() {
            match outgoing {
                Outgoing::Reply(id, reply) => {
                    session.forwards_in_flight -= 1;
                    reply.encode(id, &mut self.outbox);
                }
                Outgoing::Push(frame) => self.outbox.extend_from_slice(&frame),
                Outgoing::Goodbye(code, reason) => {
                    goodbye(code, reason, &mut self.outbox);
                    self.closing_at = Some(Instant::now() + DRAIN_TIMEOUT);
                }
            }
        }
    }

    /// Waits for bytes or for other threads; false when the connection is over.
    async fn wait(&mut self, session: &Session) -> io::Result<bool> {
        self.inbox.reserve(READ_BYTES_MAX);
        let event = async {
            tokio::select! {
                biased;
                read = self.stream.read_buf(&mut self.inbox) => read.map(|len| len > 0),
                () = session.outlet.arrival() => Ok(true),
            }
        };
        match self.closing_at {
            None => event.await,
            Some(at) => timeout_at(at, event).await.unwrap_or(Ok(false)),
        }
    }

    /// Sends the rules document if it was asked for, from where it lies.
    async fn deliver(&mut self, session: &mut Session) -> io::Result<()> {
        let Some(Delivery { id, body }) = session.delivery.take() else { return Ok(()) };
        let header = Rules::header(id, &body);
        let write = async {
            self.stream.write_all(&header).await?;
            self.stream.write_all(&body).await?;
            self.stream.flush().await
        };
        timeout(DELIVERY_TIMEOUT, write).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Writes the outbox: one system call unless the peer is slow.
    async fn flush(&mut self) -> io::Result<()> {
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
}

/// Appends a goodbye.
fn goodbye(code: GoodbyeCode, reason: &str, outbox: &mut Vec<u8>) {
    Reply::Goodbye { code, reason: reason.into() }.encode(0, outbox);
}

/// Says why and closes.
pub(crate) async fn part(stream: &mut Stream, code: GoodbyeCode, reason: &str) -> io::Result<()> {
    let mut outbox = Vec::new();
    goodbye(code, reason, &mut outbox);
    timeout(LINGER_TIMEOUT, stream.write_all(&outbox)).await??;
    linger(stream).await
}

/// Ends our side and reads what the peer still sends for a moment: closing a socket with unread bytes resets it, and a
/// reset overtakes the last frame.
async fn linger(stream: &mut Stream) -> io::Result<()> {
    stream.shutdown().await?;
    let drain = async {
        let mut sink = [0; 1_024];
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

impl Shard {
    fn welcome(&self, role: Role) -> Welcome {
        Welcome {
            version: tallyring_protocol::PROTOCOL_VERSION,
            node: self.node,
            shard: self.index,
            shards: self.shards(),
            role,
        }
    }
}
