//! The first two frames of a connection: hello, welcome.

use std::io;
use std::time::Duration;

use tallyring_protocol::{FrameError, GoodbyeCode, Hello, Malformed, PROTOCOL_VERSION, Reply, Topology, Welcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::inbound::Inbound;
use crate::config::StoreConfig;
use crate::gateway::Gateway;
use crate::sys::net::{self, Stream};

/// The longest that connecting and being welcomed may take together.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(1);

/// A connection that was welcomed, with what has arrived behind the welcome.
#[derive(Debug)]
pub(crate) struct Session {
    /// The socket.
    pub(crate) stream: Stream,
    /// Bytes behind the welcome.
    pub(crate) inbound: Inbound,
    /// What the store said.
    pub(crate) welcome: Welcome,
}

/// Why a connection ended, or did not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The peer closed it.
    #[error("closed by the peer")]
    Eof,
    /// The peer did not say welcome, or owes answers and says nothing.
    #[error("the peer is silent")]
    Silent,
    /// The peer said goodbye.
    #[error("goodbye ({code:?}): {reason}")]
    Goodbye {
        /// Why.
        code: GoodbyeCode,
        /// Why, for people.
        reason: String,
    },
    /// The stream is no sequence of frames.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// A frame is no reply.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The first frames are not welcome and topology.
    #[error("the peer does not begin with welcome and topology")]
    OutOfOrder,
    /// This end has no use for it any more.
    #[error("closed")]
    Closed,
}

impl Ended {
    /// Whether the next attempt will end in the same way, until somebody changes something.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Ended::Goodbye { code, .. } => matches!(code, GoodbyeCode::Unauthorized | GoodbyeCode::Version),
            #[cfg(feature = "tls")]
            Ended::Io(error) => crate::tls::is_distrust(error),
            _ => false,
        }
    }
}

impl Session {
    /// Waits for the topology that follows the welcome at once.
    pub(crate) async fn topology(mut self) -> Result<Topology, Ended> {
        let read = read_reply(&mut self.stream, &mut self.inbound, as_topology);
        tokio::time::timeout(HANDSHAKE_MAX, read).await.unwrap_or(Err(Ended::Silent))?
    }
}

fn as_topology(reply: Reply<'_>) -> Result<Topology, Ended> {
    match reply {
        Reply::Topology(json) => Ok(Topology::from_json(&json)?),
        Reply::Goodbye { code, reason } => Err(Ended::Goodbye { code, reason: reason.into_owned() }),
        _ => Err(Ended::OutOfOrder),
    }
}

/// Connects to `address`, asks for `shard`, waits for the welcome.
pub(crate) async fn open(address: &str, shard: u16, gateway: &Gateway) -> Result<Session, Ended> {
    let (config, instance) = (gateway.config(), gateway.instance());
    let deadline_max_us = u32::try_from(config.deadline.as_micros()).unwrap_or(u32::MAX);
    let (name, token) = (config.name.as_str(), config.token.as_str());
    let hello = Hello { version: PROTOCOL_VERSION, shard, deadline_max_us, instance, name, token };
    let start = gateway.random().next_u64();
    tokio::time::timeout(HANDSHAKE_MAX, greet(address, start, config, &hello)).await.unwrap_or(Err(Ended::Silent))
}

async fn greet(address: &str, start: u64, config: &StoreConfig, hello: &Hello<'_>) -> Result<Session, Ended> {
    let mut stream = net::connect(address, start, config).await?;
    let mut bytes = Vec::new();
    hello.encode(&mut bytes);
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    let mut inbound = Inbound::new();
    let welcome = read_reply(&mut stream, &mut inbound, as_welcome).await??;
    Ok(Session { stream, inbound, welcome })
}

fn as_welcome(reply: Reply<'_>) -> Result<Welcome, Ended> {
    match reply {
        Reply::Welcome(welcome) => Ok(welcome),
        Reply::Goodbye { code, reason } => Err(Ended::Goodbye { code, reason: reason.into_owned() }),
        _ => Err(Ended::OutOfOrder),
    }
}

/// Waits for the next reply and hands it to `read`.
async fn read_reply<T>(
    stream: &mut Stream,
    inbound: &mut Inbound,
    read: impl FnOnce(Reply<'_>) -> T,
) -> Result<T, Ended> {
    loop {
        if let Some((frame, len)) = inbound.frame()? {
            let result = read(Reply::decode(&frame)?);
            inbound.consume(len);
            return Ok(result);
        }
        match stream.read(inbound.spare()).await? {
            0 => return Err(Ended::Eof),
            len => inbound.filled(len),
        }
    }
}
