//! Connections that speak RESP: they say who they are on their shard, so all there is to do here is to choose one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::entrance::{Host, Visitor};
use crate::observe::door::{DoorTally, Refusal};
use crate::shard::resp::{RespArrival, refuse};
use crate::shard::{Message, ShardMailbox};
use crate::sys::net::{Parcel, Stream};

/// What each RESP connection needs.
#[derive(Debug)]
pub struct RespAcceptor {
    tally: Arc<DoorTally>,
    mailboxes: Arc<[ShardMailbox]>,
    arrivals: AtomicU64,
}

impl RespAcceptor {
    /// Hands connections to these shards in turn.
    pub fn new(tally: Arc<DoorTally>, mailboxes: Arc<[ShardMailbox]>) -> RespAcceptor {
        RespAcceptor { tally, mailboxes, arrivals: AtomicU64::new(0) }
    }
}

impl Host for RespAcceptor {
    /// Hands a visitor to the next shard.
    async fn receive(&self, Visitor { stream, place }: Visitor, peer: SocketAddr) {
        let id = self.arrivals.fetch_add(1, Ordering::Relaxed) + 1;
        let Ok(parcel) = Parcel::pack(stream) else { return };
        // Redis clients know nothing of shards: whichever has the connection sends on what is another's.
        let shard = id as usize % self.mailboxes.len();
        let arrival = RespArrival { parcel, id, ended: Box::new(place) };
        if let Err(Message::AdoptResp(arrival)) = self.mailboxes[shard].push(Message::AdoptResp(arrival)) {
            let reason = "the shard has more to do than it can";
            self.tally.refuse(Refusal::Busy, peer, &reason);
            tell(arrival.parcel.open().ok(), reason).await;
        }
    }

    async fn turn_away(&self, stream: Stream) {
        tell(Some(stream), "max number of clients reached").await;
    }
}

/// The peer may be gone already: it was to be refused all the same.
async fn tell(stream: Option<Stream>, reason: &str) {
    if let Some(mut stream) = stream {
        let _ = refuse(&mut stream, reason).await;
    }
}
