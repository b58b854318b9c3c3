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
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Sleep;

use crate::entrance::{Entrance, Place, Visitor};
use crate::sys::net::{Stream, TcpListener, TcpStream};

/// How long a connection may last.
const LIFETIME_MAX: Duration = Duration::from_secs(20);

/// Connections that were let in and that axum has not taken yet.
const INSIDE_MAX: usize = 64;

/// The listener: those who came through the entrance. Agreeing on keys takes time, so many do it at once, beside.
pub(super) struct Incoming {
    inside: mpsc::Receiver<(Bounded, SocketAddr)>,
    address: SocketAddr,
    doorman: JoinHandle<()>,
}

impl Incoming {
    /// Lets in who knocks at `listener`, until dropped.
    pub(super) fn new(entrance: Arc<Entrance>, listener: TcpListener) -> io::Result<Incoming> {
        let address = listener.local_addr()?;
        let (to, inside) = mpsc::channel(INSIDE_MAX);
        let doorman = tokio::task::spawn_local(async move {
            loop {
                let (stream, peer) = entrance.knock(&listener).await;
                tokio::task::spawn_local(admit(Arc::clone(&entrance), stream, peer, to.clone()));
            }
        });
        Ok(Incoming { inside, address, doorman })
    }
}

async fn admit(entrance: Arc<Entrance>, stream: TcpStream, peer: SocketAddr, to: mpsc::Sender<(Bounded, SocketAddr)>) {
    // Who is turned away is counted there. Whoever waits for a place in the channel has one in the crowd.
    if let Ok(Visitor { stream, place }) = entrance.admit(stream, peer).await {
        let bounded = Bounded { stream, end: Box::pin(tokio::time::sleep(LIFETIME_MAX)), _place: place };
        let _ = to.send((bounded, peer)).await; // unless the node drains
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.doorman.abort();
    }
}

impl axum::serve::Listener for Incoming {
    type Io = Bounded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Bounded, SocketAddr) {
        match self.inside.recv().await {
            Some(admitted) => admitted,
            None => std::future::pending().await, // the doorman is gone: the node drains
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

/// A stream that ends when its time is over, and holds its place until then.
pub(super) struct Bounded {
    stream: Stream,
    end: Pin<Box<Sleep>>,
    _place: Place,
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
