//! A native connection on its shard: read, decide, write, until it ends.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use tallyring_protocol::reply::Rules;
use tallyring_protocol::{GoodbyeCode, Reply, Role, Welcome};
use tokio::time::Instant;

use super::Shard;
use super::outlet::Outgoing;
use super::rules::Delivery;
use super::session::Session;
use super::socket::{self, DRAIN_TIMEOUT, Event, Socket};
use super::turn::Turn;
use crate::observe::door::{Door, Refusal};
use crate::sys::net::{Parcel, Stream};
use crate::tokens::Pass;

/// A rules document that a peer has not read by then is not read.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection that has said hello and is to be served.
pub struct Arrival {
    /// The socket.
    pub parcel: Parcel,
    /// What was read behind the hello.
    pub read_ahead: BytesMut,
    /// What it came in by, and is entitled to.
    pub pass: Pass,
    /// Dropped when the connection ends: whoever accepted it learns of the end that way.
    pub ended: Box<dyn Send>,
}

impl std::fmt::Debug for Arrival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arrival").field("parcel", &self.parcel).field("role", &self.pass.role).finish_non_exhaustive()
    }
}

/// Serves a connection until its peer closes it, breaks it, or the shard drains.
pub(super) async fn serve(shard: Rc<RefCell<Shard>>, arrival: Arrival) {
    let Arrival { parcel, read_ahead, pass, ended } = arrival;
    let mut seat = Seat::take(&shard, pass);
    if let Ok(stream) = parcel.open() {
        // The buffer of the hello is let go if there is nothing behind it.
        let read_ahead = if read_ahead.is_empty() { BytesMut::new() } else { read_ahead };
        let mut socket = Socket::new(stream, read_ahead, shard.borrow().spares());
        shard.borrow().welcome(pass.role).encode(&mut socket.outbox);
        // The seat is taken: of what is new from here on this connection is told as all are.
        socket.outbox.extend_from_slice(&shard.borrow().territory.frame());
        socket.outbox.extend_from_slice(&shard.borrow().rules.announcement());
        let mut connection = Connection { socket, closing_at: None };
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
    fn take(shard: &'a RefCell<Shard>, pass: Pass) -> Seat<'a> {
        let session = Session::new(pass.role);
        Seat { ticket: shard.borrow_mut().enter(Door::Native, &session.way.outlet, Some(pass)), shard, session }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut shard = self.shard.borrow_mut();
        shard.leave(self.ticket);
        shard.undefine(&mut self.session);
    }
}

struct Connection {
    socket: Socket,
    /// Set by a goodbye: when the connection closes at the latest.
    closing_at: Option<Instant>,
}

impl Connection {
    async fn run(&mut self, shard: &RefCell<Shard>, session: &mut Session) -> io::Result<()> {
        loop {
            let turn = shard.borrow_mut().turn(session, &mut self.socket.inbox, &mut self.socket.outbox);
            self.collect(session);
            if let Err(error) = &turn {
                shard.borrow().count_malformed(self.socket.inbox.len());
                goodbye(GoodbyeCode::Malformed, &error.to_string(), &mut self.socket.outbox);
            }
            self.socket.flush().await?;
            self.deliver(session).await?;
            match turn {
                Ok(Turn::More) => tokio::task::yield_now().await,
                Ok(Turn::Done) => {
                    if self.socket.wait(&session.way.outlet, self.closing_at).await? != Event::Arrived {
                        return Ok(());
                    }
                }
                Err(_) => return self.socket.end().await,
            }
        }
    }

    /// Moves what other threads have left into the outbox.
    fn collect(&mut self, session: &mut Session) {
        while let Some(outgoing) = session.way.outlet.pop() {
            match outgoing {
                Outgoing::Reply(id, reply) | Outgoing::Reserved(id, reply, _) => {
                    session.way.arrive();
                    reply.encode(id, &mut self.socket.outbox);
                }
                Outgoing::Stocks(..) => {} // nobody asks for these here
                Outgoing::Push(frame) => self.socket.outbox.extend_from_slice(&frame),
                Outgoing::Goodbye(code, reason) => {
                    goodbye(code, reason, &mut self.socket.outbox);
                    self.closing_at = Some(Instant::now() + DRAIN_TIMEOUT);
                }
            }
        }
    }

    /// Sends the rules document if it was asked for, from where it lies.
    async fn deliver(&mut self, session: &mut Session) -> io::Result<()> {
        let Some(Delivery { id, body }) = session.delivery.take() else { return Ok(()) };
        self.socket.write([&Rules::header(id, &body), &body], DELIVERY_TIMEOUT).await
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
    socket::part(stream, &outbox).await
}

impl Shard {
    fn count_malformed(&self, bytes: usize) {
        let tally = self.doors.of(Door::Native);
        tally.count(Refusal::Malformed);
        tally.throw_away(bytes);
    }

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
