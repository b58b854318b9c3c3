//! Where other nodes call: each call is greeted, and its questions are answered one after the other. A call for errands is
//! handed over to the thread that has to do with those.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::frame::{self, FrameError};
use super::hello::{Greeting, Hello, Introduction, Purpose};
use super::message::{Answer, Ask};
use super::{HELLO_TIMEOUT, IDLE_TIMEOUT, SESSIONS_MAX, WRITE_TIMEOUT};
use crate::cluster::errand::Guest;
use crate::observe::control::PeerRefusal;
use crate::sys::net::{Parcel, Stream, TcpListener, TcpStream};

/// Who answers questions.
pub trait Host: Clone + Send + Sync + 'static {
    /// The answer to a question.
    fn answer(&self, ask: Ask) -> impl Future<Output = Answer> + Send;

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
    let mut stream = Stream::from(stream);
    let hello: Hello = in_time(HELLO_TIMEOUT, frame::read(&mut stream)).await?;
    let greeting = introduction.greet(&hello);
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
        let answer = host.answer(ask).await;
        in_time(WRITE_TIMEOUT, frame::write(&mut stream, &answer)).await?;
    }
}

async fn in_time<T>(
    within: std::time::Duration,
    what: impl Future<Output = Result<T, FrameError>>,
) -> Result<T, FrameError> {
    timeout(within, what).await.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
}
