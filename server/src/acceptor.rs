//! The acceptor: takes in connections, listens to their hello, and hands them to the shard that they are for.

pub mod resp;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use tallyring_protocol::bounds::HELLO_BYTES_MAX;
use tallyring_protocol::{GoodbyeCode, Hello, PROTOCOL_VERSION, Role, frame};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::cluster::gateways::{Gateways, Presence};
use crate::cluster::view::View;
use crate::shard::native::{Arrival, part};
use crate::shard::{Message, ShardMailbox};
use crate::sys::net::{Parcel, Stream, TcpListener, TcpStream};
use crate::tokens::Tokens;

/// A peer that has not said hello by then is cut off.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Connections of one node, those included that have not said hello.
pub const CONNECTIONS_MAX: usize = 16 * 1_024;

/// How long the acceptor rests when the system has no descriptor for another connection.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// What the acceptor needs for each connection.
#[derive(Debug)]
pub struct Acceptor {
    /// Where connections go.
    pub mailboxes: Arc<[ShardMailbox]>,
    /// Who may come in.
    pub tokens: Tokens,
    /// What they are greeted with.
    pub view: Arc<View>,
    /// Who is alive.
    pub gateways: Arc<Gateways>,
    /// What it counts.
    pub tally: Arc<AcceptorTally>,
}

/// What the acceptor counts.
#[derive(Debug, Default)]
pub struct AcceptorTally {
    /// Connections now, those included that have not said hello.
    pub open: AtomicUsize,
    /// Connections accepted since the start.
    pub accepted: AtomicU64,
    /// Connections refused: bad hello, bad token, too many, too slow.
    pub refused: AtomicU64,
}

/// A connection counts while this is held.
struct Slot(Arc<AcceptorTally>);

impl Slot {
    fn take(tally: &Arc<AcceptorTally>) -> Option<Slot> {
        let open = tally.open.fetch_add(1, Ordering::Relaxed);
        let slot = Slot(Arc::clone(tally));
        (open < CONNECTIONS_MAX).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts native connections until the node drains.
pub async fn run(acceptor: Acceptor, listener: TcpListener, draining: CancellationToken) {
    let tally = Arc::clone(&acceptor.tally);
    let acceptor = Arc::new(acceptor);
    let greet = move |stream| {
        let acceptor = Arc::clone(&acceptor);
        async move { acceptor.greet(stream).await }
    };
    accept(listener, draining, tally, greet).await;
}

/// Accepts connections of any kind until the node drains; `greet` takes them in.
async fn accept<F: Future<Output = Result<(), Refused>> + 'static>(
    listener: TcpListener,
    draining: CancellationToken,
    tally: Arc<AcceptorTally>,
    greet: impl Fn(TcpStream) -> F,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = draining.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                tally.accepted.fetch_add(1, Ordering::Relaxed);
                let (greeting, tally) = (greet(stream), Arc::clone(&tally));
                tokio::task::spawn_local(async move {
                    if let Err(refusal) = greeting.await {
                        tally.refused.fetch_add(1, Ordering::Relaxed);
                        debug!(%peer, %refusal, "connection refused");
                    }
                });
            }
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

impl Acceptor {
    /// Reads the hello of a stream and hands it to its shard, or tells it why not.
    async fn greet(&self, stream: TcpStream) -> Result<(), Refused> {
        stream.set_nodelay(true)?;
        let mut stream = Stream::from(stream);
        let Some(slot) = Slot::take(&self.tally) else {
            return self.refuse(stream, GoodbyeCode::Busy, "the node has all the connections it accepts").await;
        };
        let mut inbox = BytesMut::with_capacity(HELLO_BYTES_MAX);
        let hello = tokio::time::timeout(HELLO_TIMEOUT, self.hello(&mut stream, &mut inbox)).await;
        match hello.unwrap_or(Err(Fault::Told(GoodbyeCode::Slow, "the hello did not arrive within 5 s".into()))) {
            Ok(guest) => self.hand_over(stream, inbox, guest, slot).await,
            Err(Fault::Told(code, reason)) => self.refuse(stream, code, &reason).await,
            Err(Fault::Io(error)) => Err(error.into()),
        }
    }

    async fn hand_over(&self, stream: Stream, inbox: BytesMut, guest: Guest, slot: Slot) -> Result<(), Refused> {
        let Guest { shard, role, presence } = guest;
        let arrival = Arrival {
            parcel: Parcel::pack(stream)?,
            read_ahead: inbox,
            role,
            topology: self.view.frame(),
            ended: Box::new((presence, slot)),
        };
        match self.mailboxes[shard].push(Message::Adopt(arrival)) {
            Ok(()) => Ok(()),
            Err(Message::Adopt(arrival)) => {
                self.refuse(arrival.parcel.open()?, GoodbyeCode::Busy, "the shard has more to do than it can").await
            }
            Err(_) => unreachable!("a full mailbox gives back what was pushed"),
        }
    }

    /// Reads up to the end of the hello; what follows it stays in `inbox`.
    async fn hello(&self, stream: &mut Stream, inbox: &mut BytesMut) -> Result<Guest, Fault> {
        loop {
            let found = frame::split(inbox, HELLO_BYTES_MAX).map_err(|e| malformed(e.to_string()))?;
            if let Some((frame, taken)) = found {
                let hello = Hello::decode(&frame).map_err(|e| malformed(e.to_string()))?;
                let guest = self.admit(&hello)?;
                let _ = inbox.split_to(taken);
                return Ok(guest);
            }
            if stream.read_buf(inbox).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    fn admit(&self, hello: &Hello<'_>) -> Result<Guest, Fault> {
        if hello.version != PROTOCOL_VERSION {
            let reason = format!("version: {} is not spoken here, {PROTOCOL_VERSION} is", hello.version);
            return Err(Fault::Told(GoodbyeCode::Version, reason));
        }
        let role = self.tokens.role_of(hello.token);
        let role =
            role.ok_or_else(|| Fault::Told(GoodbyeCode::Unauthorized, "token: not one of this node's".into()))?;
        let shard = usize::from(hello.shard) % self.mailboxes.len();
        debug!(name = hello.name, instance = %format_args!("{:032x}", hello.instance), shard, ?role, "hello");
        Ok(Guest { shard, role, presence: self.gateways.join(hello.instance) })
    }

    async fn refuse(&self, mut stream: Stream, code: GoodbyeCode, reason: &str) -> Result<(), Refused> {
        // The peer may be gone already: it was to be refused all the same.
        let _ = part(&mut stream, code, reason).await;
        Err(Refused::Told(reason.to_owned()))
    }
}

/// Somebody who may come in.
struct Guest {
    shard: usize,
    role: Role,
    presence: Presence,
}

/// What is wrong with a hello: something to tell the peer, or the peer is gone.
enum Fault {
    Told(GoodbyeCode, String),
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Io(error)
    }
}

fn malformed(reason: String) -> Fault {
    Fault::Told(GoodbyeCode::Malformed, reason)
}

/// Why a connection was not taken in, for the log.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("{0}")]
    Told(String),
    #[error("it broke off: {0}")]
    Broken(#[from] io::Error),
}
