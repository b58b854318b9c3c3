//! Encryption to a node: which certificates commands trust, and what they show.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tallyring_client::Tls;

use super::super::exit::Failure;
use crate::sys::file;

/// Bytes of one file of certificates.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Whom to trust and what to show.
#[derive(Debug, Args)]
#[command(next_help_heading = "To a node with TLS")]
pub(in super::super) struct TlsArgs {
    /// Roots that the node's certificate has to come from, PEM; the node is then spoken to over TLS
    #[arg(long, env = "TALLYRING_TLS_CA", value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Certificate to show if the node asks for one, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// Key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// What stands in the files.
struct Pem {
    roots: Vec<u8>,
    /// A certificate and its key.
    own: Option<(Vec<u8>, Vec<u8>)>,
}

impl TlsArgs {
    /// How the native protocol is encrypted; `None` = it is not.
    ///
    /// # Errors
    /// One line that names the flag and the file.
    pub(in super::super) fn native(&self) -> Result<Option<Tls>, Failure> {
        let Some(pem) = self.read()? else { return Ok(None) };
        let tls = match &pem.own {
            None => Tls::trusting(&pem.roots),
            Some((certificate, key)) => Tls::with_certificate(&pem.roots, certificate, key),
        };
        tls.map(Some).map_err(|error| self.blame(error.what, &error.reason))
    }

    /// How HTTP is encrypted; `None` = it is not.
    ///
    /// # Errors
    /// As [`TlsArgs::native`].
    pub(in super::super) fn http(&self) -> Result<Option<Arc<ClientConfig>>, Failure> {
        let Some(mut config) = self.config()? else { return Ok(None) };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(Arc::new(config)))
    }

    /// How anything is encrypted, whatever is spoken over it; `None` = it is not.
    ///
    /// # Errors
    /// As [`TlsArgs::native`].
    pub(in super::super) fn config(&self) -> Result<Option<ClientConfig>, Failure> {
        let Some(pem) = self.read()? else { return Ok(None) };
        config(&pem).map(Some).map_err(|(what, reason)| self.blame(what, &reason))
    }

    /// Whether a certificate is shown to who asks for one.
    pub(in super::super) fn shows(&self) -> bool {
        self.tls_cert.is_some()
    }

    fn read(&self) -> Result<Option<Pem>, Failure> {
        let Some(roots) = &self.tls_ca else { return Ok(None) };
        let own = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        let own = match own {
            Some((cert, key)) => Some((read("tls-cert", cert)?, read("tls-key", key)?)),
            None => None,
        };
        Ok(Some(Pem { roots: read("tls-ca", roots)?, own }))
    }

    /// A fault of the file that says that part.
    fn blame(&self, what: &str, reason: &str) -> Failure {
        let (flag, path) = match what {
            "certificate" => ("tls-cert", &self.tls_cert),
            "key" => ("tls-key", &self.tls_key),
            _ => ("tls-ca", &self.tls_ca),
        };
        let path = path.as_deref().unwrap_or(Path::new("")).display();
        Failure::invalid(format!("{flag}: {path}: {reason}"))
    }
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    file::read(path, FILE_BYTES_MAX).map_err(|error| Failure::invalid(format!("{flag}: {}: {error}", path.display())))
}

/// # Errors
/// Which part is wrong, and what is wrong with it.
fn config(pem: &Pem) -> Result<ClientConfig, (&'static str, String)> {
    let mut roots = RootCertStore::empty();
    for root in certificates("roots", &pem.roots)? {
        roots.add(root).map_err(|error| ("roots", error.to_string()))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ("roots", error.to_string()))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &pem.own else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates("certificate", certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| ("key", "no private key in PEM".to_owned()))?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| ("key", format!("does not go with the certificate: {error}")))
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, (&'static str, String)> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| (what, "no certificate in PEM".to_owned()))
}
