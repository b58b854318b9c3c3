//! An entrance: what every listener does before it hears a peer. Is there a place for one more, also of this address?
//! Then keys are agreed on, if the node has a certificate.
//!
//! Invariants:
//! - A connection that was not admitted costs a place for [`HANDSHAKE_TIMEOUT`] at most.
//! - Handshakes are computed one after the other, on the listener's thread: a flood of them delays newcomers, never shards.
//! - No peer takes more places than one address may have, so none can take them all.
//!
//! Not here: tokens and who is meant (`acceptor`, `door`).

mod crowd;
mod fault;
mod line;
pub mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use self::crowd::{Crowd, CrowdBounds, Place, WhenFull};
use self::tls::Certificates;
use crate::observe::door::{Door, DoorTally};
use crate::sys::net::{Stream, TcpListener, TcpStream};

/// How long a peer may take to agree on keys.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an entrance rests when the system has no descriptor for another connection.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// What an entrance needs besides its listener.
#[derive(Clone, Debug)]
pub struct EntranceSetup {
    /// How many may be inside.
    pub bounds: CrowdBounds,
    /// What becomes of one more.
    pub when_full: WhenFull,
    /// What the node shows; `None` = nothing is encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// What is counted.
    pub tally: Arc<DoorTally>,
}

/// The way in of one door.
#[derive(Debug)]
pub struct Entrance {
    door: Door,
    crowd: Arc<Crowd>,
    certificates: Option<Arc<Certificates>>,
    tally: Arc<DoorTally>,
}

/// Somebody who has a place and a stream.
#[derive(Debug)]
pub struct Visitor {
    /// What they say.
    pub stream: Stream,
    /// Given up when they leave.
    pub place: Place,
}

/// Who lives behind an entrance.
pub trait Host: 'static {
    /// Serves somebody, or hands them to whoever does.
    fn receive(&self, visitor: Visitor, peer: SocketAddr) -> impl Future<Output = ()>;

    /// Tells somebody, in the words of the door, that there is no place for them.
    fn turn_away(&self, stream: Stream) -> impl Future<Output = ()>;
}

impl Entrance {
    /// An entrance nobody has come in by.
    pub fn new(door: Door, setup: EntranceSetup) -> Entrance {
        let EntranceSetup { bounds, when_full, certificates, tally } = setup;
        let crowd = Arc::new(Crowd::new(bounds, when_full, Arc::clone(&tally)));
        Entrance { door, crowd, certificates, tally }
    }

    /// Lets in who knocks at `listener`, many at once, until the node drains.
    pub async fn open(self, listener: TcpListener, host: impl Host, draining: &CancellationToken) {
        let (entrance, host) = (Arc::new(self), Arc::new(host));
        loop {
            let (stream, peer) = tokio::select! {
                biased;
                () = draining.cancelled() => return,
                knocking = entrance.knock(&listener) => knocking,
            };
            let (entrance, host) = (Arc::clone(&entrance), Arc::clone(&host));
            tokio::task::spawn_local(async move { entrance.admit(stream, peer, &*host).await });
        }
    }

    /// Waits for somebody.
    async fn knock(&self, listener: &TcpListener) -> (TcpStream, SocketAddr) {
        loop {
            match listener.accept().await {
                Ok(knocking) => {
                    self.tally.accepted.fetch_add(1, Ordering::Relaxed);
                    return knocking;
                }
                Err(error) => {
                    warn!(door = self.door.name(), %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
    }

    /// Finds a place for somebody and agrees on keys. Who is turned away is counted and logged here.
    async fn admit(&self, stream: TcpStream, peer: SocketAddr, host: &impl Host) {
        // A socket on which this cannot be set is broken, and says so when it is read.
        let _ = stream.set_nodelay(true);
        let place = match self.crowd.enter(peer.ip()) {
            Ok(place) => place,
            Err(refusal) => {
                self.tally.refuse(refusal, peer, &self.crowd.bounds());
                // Who expects TLS could not read it.
                if self.certificates.is_none() {
                    host.turn_away(stream.into()).await;
                }
                return;
            }
        };
        let secured = tokio::select! {
            biased;
            () = place.ousted() => return,
            secured = self.secure(stream) => secured,
        };
        match secured {
            Ok(stream) => host.receive(Visitor { stream, place }, peer).await,
            Err(error) => self.tally.refuse(fault::refusal(&error), peer, &fault::Explained(&error)),
        }
    }

    async fn secure(&self, stream: TcpStream) -> io::Result<Stream> {
        let Some(certificates) = &self.certificates else { return Ok(stream.into()) };
        let agreed = timeout(HANDSHAKE_TIMEOUT, Stream::encrypt(stream, certificates.of(self.door))).await;
        agreed.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }
}
