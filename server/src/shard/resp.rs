//! A RESP connection on its shard: read, decide, write, until it ends.
//!
//! What differs from the native protocol: answers have no ids, so they wait for each other (`replies`); a command brings its
//! numbers along (`numbers`); and a connection may show its token at any time, so that is looked at here.

mod rare;
mod replies;
mod session;
#[cfg(test)]
mod tests;
mod turn;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::Instant;

use self::session::Session;
pub(super) use self::turn::Scratch;
use super::Shard;
use super::outlet::Outgoing;
use super::socket::{self, DRAIN_TIMEOUT, Event, Socket};
use super::turn::Turn;
use crate::observe::door::Door;
use crate::sys::net::{Parcel, Stream};

/// A connection that has not shown a token by then, where one is needed, is cut off.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that is to be served.
pub struct RespArrival {
    /// The socket.
    pub parcel: Parcel,
    /// The connection's number among the node's.
    pub id: u64,
    /// Dropped when the connection ends: whoever accepted it learns of the end that way.
    pub ended: Box<dyn Send>,
}

impl std::fmt::Debug for RespArrival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RespArrival").field("parcel", &self.parcel).field("id", &self.id).finish_non_exhaustive()
    }
}

/// Serves a connection until its peer closes it, breaks it, or the shard drains.
pub(super) async fn serve(shard: Rc<RefCell<Shard>>, arrival: RespArrival) {
    let RespArrival { parcel, id, ended } = arrival;
    let pass = shard.borrow().pass_without_token();
    let mut seat = Seat::take(&shard, Session::new(id, pass));
    if let Ok(stream) = parcel.open() {
        let socket = Socket::new(stream, BytesMut::new(), shard.borrow().spares());
        let login_by = Instant::now() + LOGIN_TIMEOUT;
        let mut connection = Connection { socket, login_by, closing_at: None };
        // An error here is the peer's: it went away. There is nobody left to tell.
        let _ = connection.run(&shard, &mut seat.session).await;
    }
    drop((seat, ended));
}

/// Tells a stream why it is not served, as Redis words it, and closes it.
pub(crate) async fn refuse(stream: &mut Stream, reason: &str) -> io::Result<()> {
    socket::part(stream, format!("-ERR {reason}\r\n").as_bytes()).await
}

/// A connection's place in its shard, given up when dropped: also when the task that held it ends early.
struct Seat<'a> {
    shard: &'a RefCell<Shard>,
    session: Session,
}

impl<'a> Seat<'a> {
    fn take(shard: &'a RefCell<Shard>, mut session: Session) -> Seat<'a> {
        session.ticket = shard.borrow_mut().enter(Door::Resp, &session.way.outlet, session.pass);
        Seat { shard, session }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.shard.borrow_mut().leave(self.session.ticket);
    }
}

struct Connection {
    socket: Socket,
    login_by: Instant,
    /// When the connection closes at the latest: the node drains, or the peer has said its last.
    closing_at: Option<Instant>,
}

impl Connection {
    async fn run(&mut self, shard: &RefCell<Shard>, session: &mut Session) -> io::Result<()> {
        loop {
            session.replies.lend(&mut self.socket.outbox);
            // What other threads have answered makes room for the commands that waited for it: those may be all there are.
            self.collect(session);
            let turn = shard.borrow_mut().resp_turn(session, &mut self.socket.inbox);
            session.replies.take(&mut self.socket.outbox);
            self.socket.flush().await?;
            if session.is_over && session.replies.is_settled() {
                return self.socket.end().await;
            }
            match turn {
                Turn::More => tokio::task::yield_now().await,
                Turn::Done => {
                    if !self.wait(session).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Takes in what other threads have left.
    fn collect(&mut self, session: &mut Session) {
        while let Some(outgoing) = session.way.outlet.pop() {
            match outgoing {
                Outgoing::Reply(number, reply) => {
                    session.way.arrive();
                    session.replies.arrive(number, &reply, None);
                }
                Outgoing::Reserved(number, reply, ceiling) => {
                    session.way.arrive();
                    session.replies.arrive(number, &reply, Some(ceiling));
                }
                Outgoing::Push(_) | Outgoing::Stocks(..) => {} // topologies, rules, looks: Redis has no word for them
                Outgoing::Goodbye(..) => self.close_soon(),
            }
        }
    }

    /// Waits for bytes or for other threads; false when the connection is over.
    async fn wait(&mut self, session: &mut Session) -> io::Result<bool> {
        let login_by = session.pass.is_none().then_some(self.login_by);
        let until = login_by.into_iter().chain(self.closing_at).min();
        // Nothing more is read from somebody who has said his last, or whose answers pile up behind another shard.
        let event = if session.is_over || session.is_backed_up() {
            Socket::wait_for(&session.way.outlet, until).await
        } else {
            self.socket.wait(&session.way.outlet, until).await?
        };
        if event == Event::Ended {
            // The peer may have closed its side alone, and still read what it asked for.
            session.is_over = true;
        }
        if session.is_over {
            self.close_soon();
        }
        Ok(event != Event::TimedOut)
    }

    fn close_soon(&mut self) {
        self.closing_at.get_or_insert(Instant::now() + DRAIN_TIMEOUT);
    }
}
