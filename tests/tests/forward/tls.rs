//! Nodes that encrypt: what is said between them is encrypted both ways, and whoever shows no certificate is told so.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use tallyring::config::Config;
use tallyring::entrance::tls::TlsFiles;
use tallyring::node::Node;
use tallyring::sys::clock::Clock;
use tallyring_tests::cluster::Cluster;
use tallyring_tests::local;

use super::play;
use super::web::answered;

/// Puts a root, and a certificate for this machine with its key, into a folder.
fn put_papers(folder: &Path) -> TlsFiles {
    let mut root = CertificateParams::new(Vec::new()).unwrap();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (root_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let root_pem = root.self_signed(&root_key).unwrap().pem();
    let names = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = names.signed_by(&key, &Issuer::new(root, root_key)).unwrap();
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (cert, key) = (put("node.pem", certificate.pem()), put("node.key", key.serialize_pem()));
    TlsFiles { cert, key, ca: Some(put("ca.pem", root_pem)) }
}

fn client(files: &TlsFiles) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(files.ca.as_ref().unwrap()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let chain = CertificateDer::pem_file_iter(&files.cert).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
    Arc::new(config.with_root_certificates(roots).with_client_auth_cert(chain, key).unwrap())
}

#[tokio::test]
async fn nodes_agree_and_forward_over_tls_and_refuse_who_does_not_encrypt() {
    let folder = tempfile::tempdir().unwrap();
    let files = put_papers(folder.path());
    let secure = |_| Config { tls: Some(files.clone()), ..local::config(1) };
    let cluster = Cluster::start_with(2, Clock::start, secure).await;
    let (address, config) = (cluster.nodes[0].http_addr(), client(&files));
    let keys: Vec<String> = (0..2).flat_map(|at| cluster.keys_of(at).take(5).collect::<Vec<_>>()).collect();
    play(move || {
        for key in keys {
            let name = "127.0.0.1".try_into().unwrap();
            let connection = ClientConnection::new(Arc::clone(&config), name).unwrap();
            let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
            let event = json!({ "op": "check", "key": key, "algorithm": "gcra", "limit": 9, "period_us": 1_000_000 });
            let (status, said) = answered(&mut stream, "POST", "/v1/limit", &event.to_string());
            assert_eq!((status, &said["allowed"]), (200, &json!(true)), "{key}: {said}");
        }
    })
    .await;
    let plain = Config {
        join: cluster.nodes[0].peer_addr().to_string().parse().unwrap(),
        data: Some(folder.path().join("plain")),
        node_id: "9".parse().unwrap(),
        ..local::config(1)
    };
    let refused = Node::start(plain).await.unwrap_err().to_string();
    assert!(refused.contains("it takes calls over TLS alone: give this node --tls-cert"), "{refused}");
    cluster.stop().await;
}
