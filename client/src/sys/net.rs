//! Sockets: tokio's, or turmoil's in a simulation.

#![allow(clippy::disallowed_types, reason = "the one place where the choice is made")]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(not(feature = "sim"))]
pub(crate) use tokio::net::TcpStream;
#[cfg(feature = "sim")]
pub(crate) use turmoil::net::TcpStream;

use crate::config::StoreConfig;

/// A connection's bytes, encrypted or not.
#[derive(Debug)]
pub(crate) enum Stream {
    /// As it is.
    Plain(TcpStream),
    /// Behind TLS. Boxed: a plain stream need not carry what that keeps.
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

/// Connects to `host:port`, or to one of several addresses that the host has: see [`dial`].
///
/// Small frames leave at once: waiting to fill a segment would cost more than the deadline.
pub(crate) async fn connect(address: &str, start: u64, config: &StoreConfig) -> io::Result<Stream> {
    let stream = dial(address, start).await?;
    stream.set_nodelay(true)?;
    #[cfg(feature = "tls")]
    if let Some(tls) = &config.tls {
        return Ok(Stream::Tls(Box::new(tls.encrypt(stream, address).await?)));
    }
    #[cfg(not(feature = "tls"))]
    let _ = config;
    Ok(Stream::Plain(stream))
}

/// Addresses of one name that are tried.
#[cfg(not(feature = "sim"))]
const ADDRESSES_MAX: usize = 16;

/// How long all addresses of a name may take together, and one of them at least.
#[cfg(not(feature = "sim"))]
const DIAL_MAX: std::time::Duration = std::time::Duration::from_secs(1);
#[cfg(not(feature = "sim"))]
const ADDRESS_PATIENCE_MIN: std::time::Duration = std::time::Duration::from_millis(100);

/// Resolves a name, each time anew, and connects to the first of its addresses that takes the call; `start` says which one
/// is tried first, so that many gateways spread over them, and who comes again begins elsewhere.
#[cfg(not(feature = "sim"))]
async fn dial(address: &str, start: u64) -> io::Result<TcpStream> {
    let found: Vec<std::net::SocketAddr> = tokio::net::lookup_host(address).await?.take(ADDRESSES_MAX).collect();
    first_of(&found, start, TcpStream::connect).await
}

/// A simulated host has one address.
#[cfg(feature = "sim")]
async fn dial(address: &str, _: u64) -> io::Result<TcpStream> {
    TcpStream::connect(address).await
}

/// The first that connects, beginning at `start`; the last one's error if none does. A dead one does not cost the others
/// their turn.
#[cfg(not(feature = "sim"))]
async fn first_of<A: Copy, S, F: Future<Output = io::Result<S>>>(
    addresses: &[A],
    start: u64,
    connect: impl Fn(A) -> F,
) -> io::Result<S> {
    let count = u32::try_from(addresses.len()).expect("at most ADDRESSES_MAX");
    let patience = DIAL_MAX.checked_div(count).unwrap_or_default().max(ADDRESS_PATIENCE_MIN);
    let begin = start.checked_rem(u64::from(count)).unwrap_or(0) as usize;
    let (later, first) = addresses.split_at(begin);
    let mut outcome = Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    for address in first.iter().chain(later) {
        let connected = tokio::time::timeout(patience, connect(*address)).await;
        outcome = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(all(test, not(feature = "sim")))]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// What each address does: `u` takes the call, `r` refuses it, `d` is dead. Returns which were called, and the outcome.
    async fn check(addresses: &str, start: u64, called: &[usize], expect: Result<usize, io::ErrorKind>) {
        let (calls, kinds): (RefCell<Vec<usize>>, Vec<char>) = (RefCell::default(), addresses.chars().collect());
        let numbers: Vec<usize> = (0..kinds.len()).collect();
        let connect = |no: usize| {
            calls.borrow_mut().push(no);
            let kind = kinds[no];
            async move {
                match kind {
                    'u' => Ok(no),
                    'r' => Err(io::ErrorKind::ConnectionRefused.into()),
                    _ => std::future::pending().await,
                }
            }
        };
        let outcome = first_of(&numbers, start, connect).await.map_err(|error| error.kind());
        assert_eq!((outcome, &calls.take()[..]), (expect, called), "{addresses} from {start}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_address_does_not_cost_the_others_their_turn() {
        use io::ErrorKind::{ConnectionRefused, NotFound, TimedOut};
        check("u", 7, &[0], Ok(0)).await;
        check("uuu", 0, &[0], Ok(0)).await;
        check("uuu", 5, &[2], Ok(2)).await;
        check("dru", 0, &[0, 1, 2], Ok(2)).await;
        check("udr", 1, &[1, 2, 0], Ok(0)).await;
        check("rd", 0, &[0, 1], Err(TimedOut)).await;
        check("r", 0, &[0], Err(ConnectionRefused)).await;
        check("", 3, &[], Err(NotFound)).await;
    }
}
