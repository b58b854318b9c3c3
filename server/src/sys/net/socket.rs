//! A socket below TLS, which moves between runtimes while the encryption above it stays where it is.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::TcpStream;

/// A socket that belongs to a runtime, or is on its way to another one.
#[derive(Debug)]
pub(super) enum Socket {
    /// Watched by this thread's runtime.
    Open(TcpStream),
    /// Between two runtimes.
    #[cfg(not(feature = "sim"))]
    Packed(std::net::TcpStream),
    /// Lost on the way: the runtime did not take it.
    #[cfg_attr(feature = "sim", allow(dead_code, reason = "in simulation no socket moves"))]
    Lost,
}

impl Socket {
    /// Takes the socket away from this thread's runtime.
    pub(super) fn pack(&mut self) -> io::Result<()> {
        #[cfg(not(feature = "sim"))]
        if let Socket::Open(stream) = std::mem::replace(self, Socket::Lost) {
            *self = Socket::Packed(stream.into_std()?);
        }
        Ok(())
    }

    /// Gives the socket to this thread's runtime.
    pub(super) fn open(&mut self) -> io::Result<()> {
        #[cfg(not(feature = "sim"))]
        if let Socket::Packed(stream) = std::mem::replace(self, Socket::Lost) {
            *self = Socket::Open(TcpStream::from_std(stream)?);
        }
        Ok(())
    }

    fn opened(self: Pin<&mut Self>) -> io::Result<Pin<&mut TcpStream>> {
        match self.get_mut() {
            Socket::Open(stream) => Ok(Pin::new(stream)),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.opened()?.poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.opened()?.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.opened()?.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.opened()?.poll_shutdown(cx)
    }
}
