//! A connection's bytes, encrypted or not: what is above reads and writes either in the same way.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use super::TcpStream;
use super::socket::Socket;

/// A connection that was accepted, or made.
#[derive(Debug)]
pub struct Stream(Kind);

/// A stream between two runtimes: bound to neither.
#[derive(Debug)]
pub struct Parcel(Kind);

#[derive(Debug)]
enum Kind {
    Plain(Socket),
    /// Boxed: a plain stream need not carry what TLS keeps.
    Tls(Box<TlsStream<Socket>>),
}

impl Kind {
    fn socket(&mut self) -> &mut Socket {
        match self {
            Kind::Plain(socket) => socket,
            Kind::Tls(stream) => stream.get_mut().0,
        }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Stream {
        Stream(Kind::Plain(Socket::Open(stream)))
    }
}

impl Stream {
    /// Agrees on keys with a client that has just connected. Takes as long as the client likes: the caller sets an end.
    ///
    /// # Errors
    /// The client speaks no TLS, none of this version, or shows no certificate that is trusted; or it went away.
    pub async fn encrypt(stream: TcpStream, config: Arc<ServerConfig>) -> io::Result<Stream> {
        let stream = TlsAcceptor::from(config).accept(Socket::Open(stream)).await?;
        Ok(Stream(Kind::Tls(Box::new(stream.into()))))
    }

    /// Agrees on keys with a server that was just called by this name. Takes as long as the server likes: the caller sets an
    /// end.
    ///
    /// # Errors
    /// The server speaks no TLS, shows no certificate of that name that is trusted, or does not trust ours; or it went away.
    pub async fn encrypt_call(stream: TcpStream, config: Arc<ClientConfig>, name: &str) -> io::Result<Stream> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("no certificate is for {name:?}")))?;
        let stream = TlsConnector::from(config).connect(name, Socket::Open(stream)).await?;
        Ok(Stream(Kind::Tls(Box::new(stream.into()))))
    }

    /// Writes what the system takes at once, without a task to wake.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if it takes nothing now, and always if the stream is encrypted: there the bytes go
    /// through its buffers, by [`AsyncWrite`].
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Kind::Plain(Socket::Open(stream)) => stream.try_write(bytes),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Parcel {
    /// Takes a stream away from this thread's runtime.
    ///
    /// # Errors
    /// The runtime cannot let go of it.
    pub fn pack(Stream(mut stream): Stream) -> io::Result<Parcel> {
        stream.socket().pack()?;
        Ok(Parcel(stream))
    }

    /// Gives the stream to this thread's runtime.
    ///
    /// # Errors
    /// The runtime cannot watch it.
    pub fn open(self) -> io::Result<Stream> {
        let Parcel(mut stream) = self;
        stream.socket().open()?;
        Ok(Stream(stream))
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Kind::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Kind::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().0 {
            Kind::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Kind::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Kind::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Kind::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Kind::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Kind::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
