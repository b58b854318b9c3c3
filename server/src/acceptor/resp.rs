//! Connections that speak RESP: they say who they are on their shard, so all there is to do here is to choose one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use super::{AcceptorTally, Refused, Slot};
use crate::shard::resp::{RespArrival, refuse};
use crate::shard::{Message, ShardMailbox};
use crate::sys::net::{Parcel, Stream, TcpListener, TcpStream};

/// What each RESP connection needs.
#[derive(Debug)]
pub struct RespAcceptor {
    mailboxes: Arc<[ShardMailbox]>,
    tally: Arc<AcceptorTally>,
    arrivals: AtomicU64,
}

impl RespAcceptor {
    /// Hands connections to these shards in turn, and counts them.
    pub fn new(mailboxes: Arc<[ShardMailbox]>, tally: Arc<AcceptorTally>) -> RespAcceptor {
        RespAcceptor { mailboxes, tally, arrivals: AtomicU64::new(0) }
    }

    /// Hands a stream to the next shard, or tells it why not, in the words of Redis.
    async fn greet(&self, stream: TcpStream) -> Result<(), Refused> {
        stream.set_nodelay(true)?;
        let stream = Stream::from(stream);
        let Some(slot) = Slot::take(&self.tally) else {
            return refused(stream, "max number of clients reached").await;
        };
        let id = self.arrivals.fetch_add(1, Ordering::Relaxed) + 1;
        let arrival = RespArrival { parcel: Parcel::pack(stream)?, id, ended: Box::new(slot) };
        // Redis clients know nothing of shards: whichever has the connection sends on what is another's.
        let shard = id as usize % self.mailboxes.len();
        match self.mailboxes[shard].push(Message::AdoptResp(arrival)) {
            Ok(()) => Ok(()),
            Err(Message::AdoptResp(arrival)) => {
                refused(arrival.parcel.open()?, "the shard has more to do than it can").await
            }
            Err(_) => unreachable!("a full mailbox gives back what was pushed"),
        }
    }
}

/// Accepts RESP connections until the node drains.
pub async fn run(acceptor: RespAcceptor, listener: TcpListener, draining: CancellationToken) {
    let tally = Arc::clone(&acceptor.tally);
    let acceptor = Arc::new(acceptor);
    let greet = move |stream| {
        let acceptor = Arc::clone(&acceptor);
        async move { acceptor.greet(stream).await }
    };
    super::accept(listener, draining, tally, greet).await;
}

async fn refused(mut stream: Stream, reason: &str) -> Result<(), Refused> {
    // The peer may be gone already: it was to be refused all the same.
    let _ = refuse(&mut stream, reason).await;
    Err(Refused::Told(reason.to_owned()))
}
