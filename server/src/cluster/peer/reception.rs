//! Where other nodes call: each call is greeted, and its questions are answered one after the other. A call for errands is
//! handed over to the thread that has to do with those.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tallyring_protocol::NodeId;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::frame::{self, FrameError};
use super::hello::{Greeting, Hello, Introduction, Purpose, Rejection};
use super::message::{Answer, Ask};
use super::{HELLO_TIMEOUT, IDLE_TIMEOUT, SESSIONS_MAX, WRITE_TIMEOUT};
use crate::cluster::errand::Guest;
use crate::observe::control::PeerRefusal;
use crate::sys::net::{self, Parcel, Stream, TcpListener, TcpStream};

/// Who answers questions.
pub trait Host: Clone + Send + Sync + 'static {
    /// The answer to a question of `from`.
    fn answer(&self, from: NodeId, ask: Ask) -> impl Future<Output = Answer> + Send;

    /// Takes a call over that is for errands, and was greeted.
    fn take_over(&self, guest: Guest);
}

/// Takes calls until `draining`.
pub async fn run(listener: TcpListener, introduction: Introduction, host: impl Host, draining: CancellationToken) {
    let places = Arc::new(Semaphore::new(SESSIONS_MAX));
    loop {
        let accepted = tokio::select! {
            biased;
            () = draining.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: others must go before another one can come.
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            introduction.tally.refused(PeerRefusal::Full);
            tracing::warn!(SESSIONS_MAX, "a call of another node was dropped: there is no place for it");
            continue;
        };
        let (introduction, host, draining) = (introduction.clone(), host.clone(), draining.clone());
        tokio::spawn(async move {
            let session = serve(stream, &introduction, host);
            let ended = tokio::select! {
                biased;
                () = draining.cancelled() => Ok(()),
                ended = session => ended,
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a call of another node has ended");
            }
            drop(place);
        });
    }
}

/// How long nobody is accepted after it failed.
const ACCEPT_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);

async fn serve(stream: TcpStream, introduction: &Introduction, host: impl Host) -> Result<(), FrameError> {
    stream.set_nodelay(true)?;
    let (mut stream, is_plain) = in_time(HELLO_TIMEOUT, open(stream, introduction)).await?;
    let hello: Hello = in_time(HELLO_TIMEOUT, frame::read(&mut stream)).await?;
    let greeting = if is_plain { Greeting::Refused(Rejection::Plain) } else { introduction.greet(&hello) };
    in_time(WRITE_TIMEOUT, frame::write(&mut stream, &greeting)).await?;
    if let Greeting::Refused(reason) = greeting {
        introduction.tally.refused(reason.kind());
        tracing::warn!(node = hello.from.0, %reason, "a call of another node was refused");
        return Ok(());
    }
    if hello.purpose == Purpose::Errands {
        host.take_over(Guest { from: hello.from, parcel: Parcel::pack(stream)? });
        return Ok(());
    }
    loop {
        let ask = in_time(IDLE_TIMEOUT, frame::read(&mut stream)).await?;
        let answer = host.answer(hello.from, ask).await;
        in_time(WRITE_TIMEOUT, frame::write(&mut stream, &answer)).await?;
    }
}

/// The connection to read from, encrypted if this node encrypts; and whether it should be and is not: then all that is left
/// to say is that.
async fn open(mut stream: TcpStream, introduction: &Introduction) -> Result<(Stream, bool), FrameError> {
    match (&introduction.certificates, net::begins_with_tls(&mut stream).await?) {
        (None, false) => Ok((stream.into(), false)),
        (Some(_), false) => Ok((stream.into(), true)),
        (Some(certificates), true) => {
            let encrypted = Stream::encrypt(stream, certificates.of_peers().called).await;
            encrypted.map(|stream| (stream, false)).map_err(|error| no_keys(introduction, error))
        }
        (None, true) => {
            let error = io::Error::new(io::ErrorKind::InvalidData, "TLS is spoken to a node that has no --tls-cert");
            Err(no_keys(introduction, error))
        }
    }
}

fn no_keys(introduction: &Introduction, error: io::Error) -> FrameError {
    introduction.tally.refused(PeerRefusal::Tls);
    tracing::warn!(%error, "a call of another node was refused: no keys were agreed on");
    error.into()
}

async fn in_time<T>(
    within: std::time::Duration,
    what: impl Future<Output = Result<T, FrameError>>,
) -> Result<T, FrameError> {
    timeout(within, what).await.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
}
