//! Connections that speak RESP: they say who they are on their shard, so all there is to do here is to choose one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use crate::entrance::{Entrance, Visitor};
use crate::observe::door::Refusal;
use crate::shard::resp::{RespArrival, refuse};
use crate::shard::{Message, ShardMailbox};
use crate::sys::net::{Parcel, Stream, TcpListener, TcpStream};

/// What each RESP connection needs.
#[derive(Debug)]
pub struct RespAcceptor {
    entrance: Entrance,
    mailboxes: Arc<[ShardMailbox]>,
    arrivals: AtomicU64,
}

impl RespAcceptor {
    /// Hands connections to these shards in turn.
    pub fn new(entrance: Entrance, mailboxes: Arc<[ShardMailbox]>) -> RespAcceptor {
        RespAcceptor { entrance, mailboxes, arrivals: AtomicU64::new(0) }
    }

    /// Lets somebody in, or tells them why not, in the words of Redis.
    async fn receive(&self, stream: TcpStream, peer: SocketAddr) {
        match self.entrance.admit(stream, peer).await {
            Ok(visitor) => self.hand_over(visitor, peer).await,
            Err(turned) => tell(turned.stream, "max number of clients reached").await,
        }
    }

    /// Hands a visitor to the next shard.
    async fn hand_over(&self, Visitor { stream, place }: Visitor, peer: SocketAddr) {
        let id = self.arrivals.fetch_add(1, Ordering::Relaxed) + 1;
        let Ok(parcel) = Parcel::pack(stream) else { return };
        // Redis clients know nothing of shards: whichever has the connection sends on what is another's.
        let shard = id as usize % self.mailboxes.len();
        let arrival = RespArrival { parcel, id, ended: Box::new(place) };
        if let Err(Message::AdoptResp(arrival)) = self.mailboxes[shard].push(Message::AdoptResp(arrival)) {
            let reason = "the shard has more to do than it can";
            self.entrance.tally().refuse(Refusal::Busy, peer, &reason);
            tell(arrival.parcel.open().ok(), reason).await;
        }
    }
}

/// Accepts RESP connections until the node drains.
pub async fn run(acceptor: RespAcceptor, listener: TcpListener, draining: CancellationToken) {
    let acceptor = Arc::new(acceptor);
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = draining.cancelled() => return,
            knocking = acceptor.entrance.knock(&listener) => knocking,
        };
        let acceptor = Arc::clone(&acceptor);
        tokio::task::spawn_local(async move { acceptor.receive(stream, peer).await });
    }
}

/// The peer may be gone already: it was to be refused all the same.
async fn tell(stream: Option<Stream>, reason: &str) {
    if let Some(mut stream) = stream {
        let _ = refuse(&mut stream, reason).await;
    }
}
