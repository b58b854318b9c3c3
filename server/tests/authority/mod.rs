//! An authority of the test's own, and the certificates that it issues.
#![allow(unreachable_pub, dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

/// Somebody who issues certificates.
pub struct Authority {
    root: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
pub struct Papers {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap();
        Authority { root, issuer: Issuer::new(params, key) }
    }

    /// The root, in PEM.
    pub fn root(&self) -> String {
        self.root.pem()
    }

    /// A certificate for this machine.
    pub fn issue(&self) -> Papers {
        self.issue_until(4_000)
    }

    /// One that was valid in the year 2000 alone.
    pub fn issue_expired(&self) -> Papers {
        self.issue_until(2_001)
    }

    fn issue_until(&self, year: i32) -> Papers {
        let mut params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2_000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Papers { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// A folder with the files of a node.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts a file there in one step, as those do who exchange certificates under a running node.
    pub fn put(&self, name: &str, text: &str) -> String {
        let (fresh, path) = (self.path("fresh"), self.path(name));
        std::fs::write(&fresh, text).unwrap();
        std::fs::rename(&fresh, &path).unwrap();
        text_of(&path)
    }

    /// Puts a certificate and its key there; the flags that name them.
    pub fn put_papers(&self, papers: &Papers) -> Vec<String> {
        let key = self.put("node.key", &papers.key);
        let certificate = self.put("node.pem", &papers.certificate);
        vec!["--tls-cert".to_owned(), certificate, "--tls-key".to_owned(), key]
    }
}

fn text_of(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
