//! HTTP connections, as axum takes them: bounded in number and in time.
//!
//! The door answers short questions. A connection that has not ended after [`LIFETIME_MAX`] ends then, whatever it is
//! doing: a peer that sends its request a byte a second or never reads its answer holds a place for so long and no longer.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use crate::sys::net::{TcpListener, TcpStream};

/// HTTP connections at once; the next one waits in the kernel until another ends.
const CONNECTIONS_MAX: usize = 256;

/// How long a connection may last.
const LIFETIME_MAX: Duration = Duration::from_secs(20);

/// How long the door rests when the system has no descriptor for another connection.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// The listener.
pub(super) struct Incoming {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Incoming {
    pub(super) fn new(listener: TcpListener) -> Incoming {
        Incoming { listener, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) }
    }
}

impl axum::serve::Listener for Incoming {
    type Io = Bounded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Bounded, SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await.expect("the places are never closed");
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    return (Bounded { stream, end: Box::pin(tokio::time::sleep(LIFETIME_MAX)), _place: place }, peer);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept an HTTP connection");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A stream that ends when its time is over, and holds its place until then.
pub(super) struct Bounded {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Bounded {
    /// What the stream is ready with, or the end of its time.
    fn or_end<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            ready!(self.end.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl AsyncRead for Bounded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.or_end(cx, polled)
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.or_end(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.or_end(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.or_end(cx, polled)
    }
}
