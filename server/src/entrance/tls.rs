//! The node's certificate, for every door: read from files, and read again when they change.
//!
//! A connection keeps the certificate it was opened under; only the next ones see the new one, so none is dropped.

mod expiry;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};
use tallyring_protocol::ALPN;

use crate::observe::door::Door;
use crate::sys::file;

/// Bytes of one file of certificates.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Where the certificate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The node's certificate and those between it and the root, in PEM, its own first.
    pub cert: PathBuf,
    /// The key of the node's certificate, in PEM.
    pub key: PathBuf,
    /// The roots that clients' certificates have to come from; `None` = clients show none.
    pub ca: Option<PathBuf>,
}

/// Why there is no encryption with these files.
#[derive(Debug, thiserror::Error)]
#[error("{flag}: {}: {reason}", path.display())]
pub struct TlsError {
    /// The flag that named the file.
    pub flag: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// What the files hold.
pub struct Content {
    cert: Vec<u8>,
    key: Vec<u8>,
    ca: Option<Vec<u8>>,
}

/// The certificate as the doors show it now.
#[derive(Debug)]
pub struct Certificates {
    files: TlsFiles,
    live: ArcSwap<Shown>,
}

/// What the doors show.
#[derive(Debug)]
struct Shown {
    by_door: [Arc<ServerConfig>; Door::ALL.len()],
    peers: PeerConfigs,
    expiry: Expiry,
}

/// How nodes agree on keys with each other.
#[derive(Clone, Debug)]
pub struct PeerConfigs {
    /// With who calls. With `--tls-ca` they have to show a certificate.
    pub called: Arc<ServerConfig>,
    /// With who is called, as whom the node shows the certificate that it shows at its doors. Trusted is what comes from
    /// `--tls-ca`; without it, what comes from a certificate of `--tls-cert`.
    pub calling: Arc<ClientConfig>,
}

/// When the first certificate of each file ends, in seconds since the Unix epoch; `None` where none says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// Of the node's certificate, or one between it and the root.
    pub cert_s: Option<u64>,
    /// Of the roots of clients' certificates.
    pub ca_s: Option<u64>,
}

impl Content {
    /// What tells it from other content.
    pub fn digest(&self) -> [u8; 32] {
        let parts = [&self.cert[..], &self.key, self.ca.as_deref().unwrap_or_default()];
        let hash = |hash: Sha256, part: &[u8]| hash.chain_update((part.len() as u64).to_le_bytes()).chain_update(part);
        parts.into_iter().fold(Sha256::new(), hash).finalize().into()
    }
}

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read, or is too large to be what it should be.
    pub fn read(&self) -> Result<Content, TlsError> {
        Ok(Content {
            cert: read("tls-cert", &self.cert)?,
            key: read("tls-key", &self.key)?,
            ca: self.ca.as_deref().map(|path| read("tls-ca", path)).transpose()?,
        })
    }
}

impl Certificates {
    /// Reads the certificate.
    ///
    /// # Errors
    /// [`TlsError`] names the file.
    pub fn load(files: TlsFiles) -> Result<Certificates, TlsError> {
        let content = files.read()?;
        let live = ArcSwap::from_pointee(Shown::of(&files, &content)?);
        Ok(Certificates { files, live })
    }

    /// Where it is read from.
    pub fn files(&self) -> &TlsFiles {
        &self.files
    }

    /// Shows what the files hold now to everybody who connects from here on.
    ///
    /// # Errors
    /// As [`Certificates::load`]; the doors show what they did before.
    pub fn replace(&self, content: &Content) -> Result<(), TlsError> {
        self.live.store(Arc::new(Shown::of(&self.files, content)?));
        Ok(())
    }

    /// How that door agrees on keys.
    pub fn of(&self, door: Door) -> Arc<ServerConfig> {
        Arc::clone(&self.live.load().by_door[door as usize])
    }

    /// How nodes agree on keys with each other.
    pub fn of_peers(&self) -> PeerConfigs {
        self.live.load().peers.clone()
    }

    /// When what is shown now ends.
    pub fn expiry(&self) -> Expiry {
        self.live.load().expiry
    }
}

impl Shown {
    fn of(files: &TlsFiles, content: &Content) -> Result<Shown, TlsError> {
        let expiry = Expiry { cert_s: first_end(&content.cert), ca_s: content.ca.as_deref().and_then(first_end) };
        let (by_door, peers) = configs(files, content)?;
        Ok(Shown { by_door, peers, expiry })
    }
}

/// When the first of some certificates in PEM ends.
fn first_end(pem: &[u8]) -> Option<u64> {
    CertificateDer::pem_slice_iter(pem).flatten().filter_map(|certificate| expiry::not_after_s(&certificate)).min()
}

fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    file::read(path, FILE_BYTES_MAX).map_err(|error| fault(flag, path, error.to_string()))
}

fn configs(
    files: &TlsFiles,
    content: &Content,
) -> Result<([Arc<ServerConfig>; Door::ALL.len()], PeerConfigs), TlsError> {
    let papers = Papers {
        files,
        provider: Arc::new(default_provider()),
        chain: chain(files, content)?,
        key: PrivateKeyDer::from_pem_slice(&content.key)
            .map_err(|error| fault("tls-key", &files.key, format!("no private key in PEM: {error}")))?,
        roots: roots(files, content)?,
    };
    let mut configs = Vec::with_capacity(Door::ALL.len());
    for door in Door::ALL {
        let mut config =
            papers.serving(verifier(files, papers.roots.clone(), &papers.provider, door == Door::Http)?)?;
        config.alpn_protocols = alpn(door);
        configs.push(Arc::new(config));
    }
    let called = Arc::new(papers.serving(verifier(files, papers.roots.clone(), &papers.provider, false)?)?);
    let peers = PeerConfigs { called, calling: Arc::new(papers.calling()?) };
    Ok((configs.try_into().expect("a configuration for each door"), peers))
}

/// What the files say, read.
struct Papers<'a> {
    files: &'a TlsFiles,
    provider: Arc<CryptoProvider>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    roots: Option<Arc<RootCertStore>>,
}

impl Papers<'_> {
    /// For who is called.
    fn serving(&self, verifier: Arc<dyn ClientCertVerifier>) -> Result<ServerConfig, TlsError> {
        ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| fault("tls-cert", &self.files.cert, error.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|error| self.mismatch(&error))
    }

    /// For who calls.
    fn calling(&self) -> Result<ClientConfig, TlsError> {
        ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| fault("tls-cert", &self.files.cert, error.to_string()))?
            .with_root_certificates(self.roots.clone().unwrap_or_else(|| Arc::new(self.own_roots())))
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|error| self.mismatch(&error))
    }

    /// Those of the chain itself.
    fn own_roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.chain.iter().cloned());
        roots
    }

    fn mismatch(&self, error: &rustls::Error) -> TlsError {
        fault("tls-key", &self.files.key, format!("does not go with the certificate: {error}"))
    }
}

fn chain(files: &TlsFiles, content: &Content) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content.cert).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(fault("tls-cert", &files.cert, "no certificate in PEM".to_owned())),
        Err(error) => Err(fault("tls-cert", &files.cert, format!("no certificate in PEM: {error}"))),
    }
}

/// The roots of clients' certificates, if they have to show one.
fn roots(files: &TlsFiles, content: &Content) -> Result<Option<Arc<RootCertStore>>, TlsError> {
    let (Some(path), Some(pem)) = (&files.ca, &content.ca) else { return Ok(None) };
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(pem) {
        let root = root.map_err(|error| fault("tls-ca", path, format!("no certificate in PEM: {error}")))?;
        roots.add(root).map_err(|error| fault("tls-ca", path, error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(fault("tls-ca", path, "no certificate in PEM".to_owned()));
    }
    Ok(Some(Arc::new(roots)))
}

/// Whom a listener lets agree on keys. HTTP only checks a certificate if there is one: probes and scrapes have none, and what
/// changes anything needs a token there.
fn verifier(
    files: &TlsFiles,
    roots: Option<Arc<RootCertStore>>,
    provider: &Arc<CryptoProvider>,
    takes_strangers: bool,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let Some(roots) = roots else { return Ok(WebPkiClientVerifier::no_client_auth()) };
    let builder = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider));
    let builder = if takes_strangers { builder.allow_unauthenticated() } else { builder };
    let ca = files.ca.as_deref().unwrap_or(&files.cert);
    builder.build().map_err(|error| fault("tls-ca", ca, error.to_string()))
}

/// What is spoken at a door, for clients that ask. Stock RESP clients do not.
fn alpn(door: Door) -> Vec<Vec<u8>> {
    match door {
        Door::Native => vec![ALPN.to_vec()],
        Door::Http => vec![b"http/1.1".to_vec()],
        Door::Resp => Vec::new(),
    }
}

fn fault(flag: &'static str, path: &Path, reason: String) -> TlsError {
    TlsError { flag, path: path.to_owned(), reason }
}
