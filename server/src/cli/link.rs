//! A connection of a command to a node, encrypted or not.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::trouble::Cause;

/// How long a node may take to accept a connection, and again to agree on keys.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(5);

/// How long somebody may take to give away that it speaks TLS.
const SNIFF_MAX: Duration = Duration::from_secs(1);

/// The first byte of an alert of TLS: what plain text is answered with (RFC 8446, section 5.1).
const TLS_ALERT: u8 = 21;

/// Something that bytes go through.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Connects, and agrees on keys if there is somebody to trust. `shows` says whether a certificate is shown.
///
/// # Errors
/// Why there is no connection.
pub(super) async fn connect(
    address: &str,
    tls: Option<Arc<ClientConfig>>,
    shows: bool,
) -> Result<Box<dyn Wire>, Cause> {
    let connected = timeout(CONNECT_MAX, TcpStream::connect(address)).await.map_err(|_| Cause::Silent)?;
    let stream = connected.map_err(|error| Cause::of_connecting(&error))?;
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let host = address.rsplit_once(':').map_or(address, |(host, _port)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(|error| Cause::Unreached(error.to_string()))?;
    let agreed = timeout(CONNECT_MAX, TlsConnector::from(tls).connect(name, stream)).await;
    match agreed.map_err(|_| Cause::Silent)? {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(Cause::of_tls(&error, shows).unwrap_or_else(|| Cause::Tls(error.to_string()))),
    }
}

/// Whether who is there answers plain text as TLS does.
pub(super) async fn speaks_tls(address: &str) -> bool {
    let sniff = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(b"\r\n\r\n\r\n").await.ok()?;
        stream.read_u8().await.ok()
    };
    timeout(SNIFF_MAX, sniff).await.ok().flatten() == Some(TLS_ALERT)
}
