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
pub mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;

pub use self::crowd::{Crowd, CrowdBounds, Place};
use self::tls::Certificates;
use crate::observe::door::{Door, DoorTally, Refusal};
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

/// Somebody who was turned away; counted already.
#[derive(Debug)]
pub struct Turned {
    /// Why.
    pub refusal: Refusal,
    /// To tell them, where they could read it.
    pub stream: Option<Stream>,
}

impl Entrance {
    /// An entrance nobody has come in by.
    pub fn new(door: Door, setup: EntranceSetup) -> Entrance {
        let EntranceSetup { bounds, certificates, tally } = setup;
        let crowd = Arc::new(Crowd::new(bounds, Arc::clone(&tally)));
        Entrance { door, crowd, certificates, tally }
    }

    /// What is counted here.
    pub fn tally(&self) -> &Arc<DoorTally> {
        &self.tally
    }

    /// Waits for somebody.
    pub async fn knock(&self, listener: &TcpListener) -> (TcpStream, SocketAddr) {
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

    /// Finds a place for somebody and agrees on keys.
    ///
    /// # Errors
    /// There is no place, or no agreement within [`HANDSHAKE_TIMEOUT`]. Who is turned away is counted and logged here.
    pub async fn admit(&self, stream: TcpStream, peer: SocketAddr) -> Result<Visitor, Turned> {
        // A socket on which this cannot be set is broken, and says so when it is read.
        let _ = stream.set_nodelay(true);
        let place = match self.crowd.enter(peer.ip()) {
            Ok(place) => place,
            Err(refusal) => {
                self.tally.refuse(refusal, peer, &self.crowd.bounds());
                let stream = self.certificates.is_none().then(|| stream.into());
                return Err(Turned { refusal, stream });
            }
        };
        match self.secure(stream).await {
            Ok(stream) => Ok(Visitor { stream, place }),
            Err(error) => {
                let refusal = fault::refusal(&error);
                self.tally.refuse(refusal, peer, &fault::Explained(&error));
                Err(Turned { refusal, stream: None })
            }
        }
    }

    async fn secure(&self, stream: TcpStream) -> io::Result<Stream> {
        let Some(certificates) = &self.certificates else { return Ok(stream.into()) };
        let agreed = timeout(HANDSHAKE_TIMEOUT, Stream::encrypt(stream, certificates.of(self.door))).await;
        agreed.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }
}
