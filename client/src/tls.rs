//! Encryption to the store: whom to trust, and what to show.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tallyring_protocol::ALPN;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::sys::net::TcpStream;

/// How connections to a store are encrypted. Clones share it.
///
/// A store is known by the roots that its certificate comes from and by the host that it is reached at; the system's own
/// roots are not asked.
#[derive(Clone)]
pub struct Tls(Arc<ArcSwap<ClientConfig>>);

/// What there is no encryption with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tls: {what}: {reason}")]
pub struct TlsError {
    /// Which part: `roots`, `certificate` or `key`.
    pub what: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

impl Tls {
    /// Trusts stores whose certificate comes from one of these roots, in PEM.
    ///
    /// # Errors
    /// [`TlsError`] if there is none.
    ///
    /// ```
    /// use tallyring_client::Tls;
    /// assert_eq!(Tls::trusting(b"hello").unwrap_err().to_string(), "tls: roots: no certificate in PEM");
    /// ```
    pub fn trusting(roots: &[u8]) -> Result<Tls, TlsError> {
        let builder = builder(roots)?;
        Ok(Tls::new(builder.with_no_client_auth()))
    }

    /// The same, and shows a certificate to stores that ask for one: its chain and its key, in PEM.
    ///
    /// # Errors
    /// [`TlsError`] names the part that is missing, or does not go with the others.
    pub fn with_certificate(roots: &[u8], certificate: &[u8], key: &[u8]) -> Result<Tls, TlsError> {
        let chain = certificates("certificate", certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| fault("key", "no private key in PEM"))?;
        let config = builder(roots)?.with_client_auth_cert(chain, key);
        let config = config.map_err(|error| fault("key", format!("does not go with the certificate: {error}")))?;
        Ok(Tls::new(config))
    }

    /// From now on every clone connects as `other` does; connections that are up stay up. For certificates that are
    /// exchanged while a gateway runs.
    pub fn replace(&self, other: &Tls) {
        self.0.store(other.0.load_full());
    }

    /// Agrees on keys with the store at `address`, a `host:port`.
    pub(crate) async fn encrypt(&self, stream: TcpStream, address: &str) -> io::Result<TlsStream<TcpStream>> {
        let host = address.rsplit_once(':').map_or(address, |(host, _port)| host).trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(self.0.load_full()).connect(name, stream).await
    }

    fn new(mut config: ClientConfig) -> Tls {
        config.alpn_protocols = vec![ALPN.to_vec()];
        Tls(Arc::new(ArcSwap::from_pointee(config)))
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls(..)") // a key must not reach a log
    }
}

/// Whether an error says that one end does not trust the other, which the next attempt does not change.
pub(crate) fn is_distrust(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>;

fn builder(roots: &[u8]) -> Result<Builder, TlsError> {
    let mut store = RootCertStore::empty();
    for root in certificates("roots", roots)? {
        store.add(root).map_err(|error| fault("roots", error.to_string()))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| fault("roots", error.to_string()))?;
    Ok(builder.with_root_certificates(store))
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(fault(what, "no certificate in PEM")),
    }
}

fn fault(what: &'static str, reason: impl Into<String>) -> TlsError {
    TlsError { what, reason: reason.into() }
}
