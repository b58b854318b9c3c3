//! The acceptor: listens to the hello of whoever comes in, and hands them to the shard that they are for.

pub mod resp;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tallyring_protocol::bounds::HELLO_BYTES_MAX;
use tallyring_protocol::{GoodbyeCode, Hello, PROTOCOL_VERSION, frame};
use tokio::io::AsyncReadExt;
use tracing::debug;

use crate::cluster::gateways::{Gateways, Presence};
use crate::entrance::{Host, Place, Visitor};
use crate::observe::door::{DoorTally, Refusal};
use crate::shard::native::{Arrival, part};
use crate::shard::{Message, ShardMailbox};
use crate::sys::net::{Parcel, Stream};
use crate::tokens::{LiveTokens, Pass};

/// A peer that has not said hello by then is cut off.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// How a TLS handshake begins: the record type and the major version.
const TLS_HANDSHAKE: [u8; 2] = [22, 3];

/// What the acceptor needs for each connection.
#[derive(Debug)]
pub struct Acceptor {
    /// What is counted.
    pub tally: Arc<DoorTally>,
    /// Where connections go.
    pub mailboxes: Arc<[ShardMailbox]>,
    /// Who may come in.
    pub tokens: Arc<LiveTokens>,
    /// Who is alive.
    pub gateways: Arc<Gateways>,
}

impl Host for Acceptor {
    /// Reads the hello of a visitor.
    async fn receive(&self, Visitor { mut stream, place }: Visitor, peer: SocketAddr) {
        let mut inbox = BytesMut::with_capacity(HELLO_BYTES_MAX);
        let hello = tokio::time::timeout(HELLO_TIMEOUT, self.hello(&mut stream, &mut inbox)).await;
        let fault = match hello.unwrap_or(Err(Fault::slow())) {
            Ok(guest) => match self.hand_over(stream, inbox, guest, place) {
                Ok(()) => return,
                Err((fault, back)) => return self.refuse(back, fault, peer).await,
            },
            Err(fault) => fault,
        };
        self.tally.throw_away(inbox.len());
        self.refuse(Some(stream), fault, peer).await;
    }

    async fn turn_away(&self, stream: Stream) {
        say_goodbye(stream, GoodbyeCode::Busy, "the node has all the connections it accepts").await;
    }
}

impl Acceptor {
    /// Hands a guest to its shard, or gives the stream back.
    fn hand_over(
        &self,
        stream: Stream,
        inbox: BytesMut,
        guest: Guest,
        place: Place,
    ) -> Result<(), (Fault, Option<Stream>)> {
        let Guest { shard, pass, presence } = guest;
        let parcel = Parcel::pack(stream).map_err(|error| (error.into(), None))?;
        let ended = Box::new((presence, place));
        let arrival = Arrival { parcel, read_ahead: inbox, pass, ended };
        match self.mailboxes[shard].push(Message::Adopt(arrival)) {
            Ok(()) => Ok(()),
            Err(Message::Adopt(arrival)) => Err((Fault::busy(), arrival.parcel.open().ok())),
            Err(_) => unreachable!("a full mailbox gives back what was pushed"),
        }
    }

    /// Reads up to the end of the hello; what follows it stays in `inbox`.
    async fn hello(&self, stream: &mut Stream, inbox: &mut BytesMut) -> Result<Guest, Fault> {
        loop {
            let found = frame::split(inbox, HELLO_BYTES_MAX).map_err(|error| Fault::malformed(&error, inbox))?;
            if let Some((frame, taken)) = found {
                let hello = Hello::decode(&frame).map_err(|error| Fault::malformed(&error, inbox))?;
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
            return Err(Fault::version(hello.version));
        }
        let pass = self.tokens.pass_of(hello.token).ok_or_else(Fault::unauthorized)?;
        let shard = usize::from(hello.shard) % self.mailboxes.len();
        debug!(name = hello.name, instance = %format_args!("{:032x}", hello.instance), shard, role = ?pass.role, "hello");
        Ok(Guest { shard, pass, presence: self.gateways.join(hello.instance) })
    }

    async fn refuse(&self, stream: Option<Stream>, fault: Fault, peer: SocketAddr) {
        self.tally.refuse(fault.refusal, peer, &fault.reason);
        if let (Some(stream), Some(code)) = (stream, fault.goodbye) {
            say_goodbye(stream, code, &fault.reason).await;
        }
    }
}

/// The peer may be gone already: it was to be refused all the same.
async fn say_goodbye(mut stream: Stream, code: GoodbyeCode, reason: &str) {
    let _ = part(&mut stream, code, reason).await;
}

/// Somebody who may come in.
struct Guest {
    shard: usize,
    pass: Pass,
    presence: Presence,
}

/// Why somebody may not come in.
struct Fault {
    refusal: Refusal,
    /// How to tell them; `None` = there is nobody left to tell.
    goodbye: Option<GoodbyeCode>,
    reason: String,
}

impl Fault {
    fn told(refusal: Refusal, code: GoodbyeCode, reason: impl Into<String>) -> Fault {
        Fault { refusal, goodbye: Some(code), reason: reason.into() }
    }

    fn slow() -> Fault {
        Fault::told(Refusal::Slow, GoodbyeCode::Slow, "the hello did not arrive within 5 s")
    }

    fn busy() -> Fault {
        Fault::told(Refusal::Busy, GoodbyeCode::Busy, "the shard has more to do than it can")
    }

    fn unauthorized() -> Fault {
        Fault::told(Refusal::Unauthorized, GoodbyeCode::Unauthorized, "token: not one of this node's")
    }

    fn version(version: u16) -> Fault {
        let reason = format!("version: {version} is not spoken here, {PROTOCOL_VERSION} is");
        Fault::told(Refusal::Version, GoodbyeCode::Version, reason)
    }

    fn malformed(error: &dyn std::fmt::Display, inbox: &[u8]) -> Fault {
        let reason = if inbox.starts_with(&TLS_HANDSHAKE) {
            "TLS is spoken to a port that has none: give the node --tls-cert, or the client no CA".to_owned()
        } else {
            error.to_string()
        };
        Fault::told(Refusal::Malformed, GoodbyeCode::Malformed, reason)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault { refusal: Refusal::Broken, goodbye: None, reason: format!("it broke off: {error}") }
    }
}
