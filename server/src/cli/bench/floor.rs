//! The floor: a server that reads native frames, answers every check with the same decision, and decides nothing.
//!
//! What it costs is what sockets, frames and the runtime cost; what a store costs more is the price of deciding.

use std::io;
use std::net::SocketAddr;

use tallyring_protocol::bounds::REQUEST_BYTES_MAX;
use tallyring_protocol::reply::Decision;
use tallyring_protocol::{Frame, Kind, NodeId, PROTOCOL_VERSION, Reply, Request, Role, Welcome, frame};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::inbox::Inbox;

/// What every check is answered.
const DECISION: Decision = Decision {
    allowed: true,
    remaining: 999,
    retry_after_us: 0,
    reset_after_us: 1_000_000,
    at_us: 0,
    charged: None,
    delay_us: None,
};

/// Serves until the process ends.
pub(super) fn serve(addr: SocketAddr) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(addr).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(converse(stream)); // a connection that fails is over, and nobody else's concern
        }
    })
}

/// Answers whatever has arrived with one write, until the peer leaves or sends what is no frame.
async fn converse(mut stream: TcpStream) -> io::Result<()> {
    let (mut inbox, mut out) = (Inbox::default(), Vec::new());
    loop {
        inbox.fill(&mut stream).await?;
        while let Some((frame, taken)) = frame::split(inbox.bytes(), REQUEST_BYTES_MAX).map_err(io::Error::other)? {
            answer(&frame, &mut out);
            inbox.take(taken);
        }
        stream.write_all(&out).await?;
        out.clear();
    }
}

fn answer(frame: &Frame<'_>, out: &mut Vec<u8>) {
    if frame.kind == Kind::Hello as u8 {
        let welcome = Welcome { version: PROTOCOL_VERSION, node: NodeId(1), shard: 0, shards: 1, role: Role::Client };
        return welcome.encode(out);
    }
    let reply = match Request::decode(frame) {
        Ok(Request::Define(_)) => Reply::Defined,
        Ok(Request::Ping) => Reply::Pong,
        Ok(_) => Reply::Decision(DECISION),
        Err(error) => Reply::invalid(error),
    };
    reply.encode(frame.id, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::accounts::Accounts;
    use crate::cli::bench::dialect::{Answer, native};
    use crate::cli::bench::mix::Mix;
    use crate::cli::bench::numbers;

    #[test]
    fn the_floor_welcomes_defines_and_allows_everything() {
        let limit = numbers::load(tallyring_engine::Algorithm::TokenBucket, Mix::Uniform);
        let dialect = native::dialect("", &Accounts { prefix: "rl".into(), count: 10 }, &limit);
        let mut asked = dialect.greeting.clone();
        dialect.ask.write(7, &mut asked);
        let (mut answers, mut out) = (Vec::new(), Vec::new());
        let mut rest = &asked[..];
        while let Some((frame, taken)) = frame::split(rest, REQUEST_BYTES_MAX).unwrap() {
            answer(&frame, &mut out);
            rest = &rest[taken..];
        }
        let mut rest = &out[..];
        while let Some((answer, taken)) = (dialect.read)(rest).unwrap() {
            answers.push(answer);
            rest = &rest[taken..];
        }
        assert_eq!(answers, [Answer::Notice, Answer::Ready, Answer::Allowed]);
    }
}
