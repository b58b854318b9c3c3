//! Sockets: tokio's, or turmoil's in a simulation.

#![allow(clippy::disallowed_types, reason = "the one place where the choice is made")]

#[cfg(not(feature = "sim"))]
pub(crate) use tokio::net::TcpStream;
#[cfg(feature = "sim")]
pub(crate) use turmoil::net::TcpStream;

/// Connects to `host:port`. Small frames leave at once: waiting to fill a segment would cost more than the deadline.
pub(crate) async fn connect(address: &str) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
