//! Sockets. A stream can be handed from the thread that accepted it to the shard thread that will own it.

mod socket;
mod stream;

use std::io;
use std::net::SocketAddr;

#[cfg(not(feature = "sim"))]
pub use tokio::net::{TcpListener, TcpStream};
#[cfg(feature = "sim")]
pub use turmoil::net::{TcpListener, TcpStream};

pub use self::stream::{Parcel, Stream};

/// Connections that the kernel holds until they are accepted.
#[cfg(not(feature = "sim"))]
const BACKLOG_MAX: i32 = 1_024;

/// What a record of TLS begins with that carries a handshake: its type, and the major version that all have in common.
const HANDSHAKE: [u8; 2] = [0x16, 0x03];

/// Whether somebody who has just connected begins with TLS; what they say stays to be read. Takes as long as they like.
///
/// # Errors
/// The connection is broken.
pub async fn begins_with_tls(stream: &mut TcpStream) -> io::Result<bool> {
    let mut first = [0; HANDSHAKE.len() + 1];
    loop {
        let seen = stream.peek(&mut first).await?;
        // A frame of ours begins with its length, little-endian, and no first one has 64 KiB: its third byte is 0.
        match first[..seen] {
            [a, b, third] => return Ok([a, b] == HANDSHAKE && third != 0),
            [] => return Ok(false),
            _ => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
        }
    }
}

/// A socket that listens already, bound to no runtime yet.
#[cfg_attr(not(feature = "sim"), derive(Debug))]
pub struct Bound(#[cfg(not(feature = "sim"))] std::net::TcpListener, #[cfg(feature = "sim")] TcpListener);

impl Bound {
    /// Listens at `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is taken, not this machine's, or forbidden.
    #[cfg(not(feature = "sim"))]
    pub async fn listen(address: SocketAddr) -> io::Result<Bound> {
        use socket2::{Domain, Protocol, Socket, Type};
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?; // a restart must not wait for the last node's connections to time out
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG_MAX)?;
        Ok(Bound(socket.into()))
    }

    /// Listens at the port of `address`, at every address of the simulated host.
    ///
    /// # Errors
    /// The port is taken.
    #[cfg(feature = "sim")]
    pub async fn listen(address: SocketAddr) -> io::Result<Bound> {
        TcpListener::bind((std::net::Ipv4Addr::UNSPECIFIED, address.port())).await.map(Bound)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Gives the listener to this thread's runtime.
    ///
    /// # Errors
    /// The runtime cannot watch it.
    pub fn open(self) -> io::Result<TcpListener> {
        #[cfg(not(feature = "sim"))]
        return TcpListener::from_std(self.0);
        #[cfg(feature = "sim")]
        Ok(self.0)
    }
}
