//! TLS as gateways, people and strangers meet it: real handshakes, with certificates of an authority of the test's own.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod authority;
mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use authority::{Authority, Folder, Papers};
use common::{ANY_PORTS, PATIENCE, Serve, command};
use rustix::process::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tallyring_client::{Algorithm, Ask, Key, Limit, Period, Store, StoreConfig, Tls};
use tokio::runtime::Runtime;

/// A node with a certificate.
struct Secure {
    authority: Authority,
    folder: Folder,
    node: Serve,
}

impl Secure {
    fn start(args: &[&str]) -> Secure {
        let authority = Authority::new("ours");
        let papers = authority.issue();
        Secure::start_with(authority, &papers, args)
    }

    fn start_with(authority: Authority, papers: &Papers, args: &[&str]) -> Secure {
        let folder = Folder::new();
        let flags = folder.put_papers(papers);
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain(args.iter().copied()).collect();
        Secure { authority, node: Serve::start(&flags), folder }
    }

    fn trust(&self) -> Tls {
        Tls::trusting(self.authority.root().as_bytes()).unwrap()
    }

    /// Stops the node and returns what it said.
    fn log(mut self) -> String {
        self.node.signal(Signal::TERM);
        self.node.wait();
        self.node.log()
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn store(node: &Serve, tls: Option<Tls>) -> Store {
    let seeds = vec![node.native.to_string()];
    Store::open(StoreConfig { seeds, deadline: Duration::from_secs(5), tls, ..StoreConfig::default() })
}

/// Whether a gateway with these means gets through.
fn is_served(node: &Serve, tls: Option<Tls>) -> bool {
    runtime().block_on(async { store(node, tls).ready(Duration::from_millis(1_500)).await })
}

/// An HTTPS client that trusts `root` and shows nothing.
fn https(node: &Serve, root: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let socket = TcpStream::connect(node.http)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = StreamOwned::new(connection, socket);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    match stream.read_to_string(&mut response) {
        Err(error) if response.is_empty() => Err(error),
        _ => Ok(response),
    }
}

#[test]
fn a_gateway_and_a_scrape_come_through_and_strangers_do_not() {
    let secure = Secure::start(&["--shards", "2"]);
    runtime().block_on(async {
        let store = store(&secure.node, Some(secure.trust()));
        let limit = Limit::new(Algorithm::TokenBucket, 3, Period::Micros(3_600_000_000), None).unwrap();
        let limit = store.define(limit).unwrap();
        for n in 0..20 {
            let key = Key::raw(format!("k{n}").as_bytes()).unwrap();
            let mut allowed = 0;
            for _ in 0..5 {
                allowed += u32::from(store.check(&limit, &key, Ask::new(1)).await.unwrap().allowed);
            }
            assert_eq!(allowed, 3, "k{n}");
        }
    });
    let scraped = https(&secure.node, &secure.authority.root()).unwrap();
    assert!(scraped.starts_with("HTTP/1.1 200 OK") && scraped.contains("tallyring_build_info"), "{scraped}");
    assert!(!is_served(&secure.node, Some(Tls::trusting(Authority::new("another").root().as_bytes()).unwrap())));
    assert!(https(&secure.node, &Authority::new("another").root()).is_err());
    let log = secure.log();
    assert!(log.contains("it does not trust this node's certificate"), "{log}");
}

#[test]
fn plain_text_to_a_port_with_tls_is_said_in_the_log_and_so_is_tls_to_one_without() {
    let secure = Secure::start(&[]);
    assert!(!is_served(&secure.node, None));
    let log = secure.log();
    assert!(log.contains("it speaks plain text to a port that has TLS"), "{log}");

    let mut plain = Serve::start(&[]);
    assert!(!is_served(&plain, Some(Tls::trusting(Authority::new("any").root().as_bytes()).unwrap())));
    plain.signal(Signal::TERM);
    plain.wait();
    let log = plain.log();
    assert!(log.contains("TLS is spoken to a port that has none"), "{log}");
}

#[test]
fn a_certificate_that_has_expired_is_no_certificate() {
    let authority = Authority::new("ours");
    let papers = authority.issue_expired();
    let secure = Secure::start_with(authority, &papers, &[]);
    assert!(!is_served(&secure.node, Some(secure.trust())));
    let log = secure.log();
    assert!(log.contains("this node's certificate has expired"), "{log}");
}

#[test]
fn gateways_show_certificates_where_they_are_asked_for_and_scrapes_need_none() {
    let (ours, another) = (Authority::new("ours"), Authority::new("another"));
    let folder = Folder::new();
    let root = folder.put("ca.pem", &ours.root());
    let papers = ours.issue();
    let secure = Secure::start_with(ours, &papers, &["--tls-ca", &root]);
    let showing = |papers: &Papers| {
        let root = secure.authority.root();
        Tls::with_certificate(root.as_bytes(), papers.certificate.as_bytes(), papers.key.as_bytes()).unwrap()
    };
    assert!(is_served(&secure.node, Some(showing(&secure.authority.issue()))));
    assert!(!is_served(&secure.node, Some(secure.trust())), "it showed none");
    assert!(!is_served(&secure.node, Some(showing(&another.issue()))), "it is another's");
    assert!(!is_served(&secure.node, Some(showing(&secure.authority.issue_expired()))), "it has expired");
    assert!(https(&secure.node, &secure.authority.root()).unwrap().starts_with("HTTP/1.1 200"));
    let log = secure.log();
    assert!(log.contains("asks every client for a certificate, and it has shown none"), "{log}");
}

#[test]
fn a_certificate_is_exchanged_under_load_and_no_connection_drops() {
    let secure = Secure::start(&["--shards", "1"]);
    let next = Authority::new("next");
    runtime().block_on(async {
        let veteran = store(&secure.node, Some(secure.trust()));
        assert!(veteran.ready(PATIENCE).await);
        let limit = Limit::new(Algorithm::FixedWindow, 1_000_000, Period::Micros(300 * 86_400_000_000), None).unwrap();
        let limit = veteran.define(limit).unwrap();
        let key = Key::raw(b"k").unwrap();
        let mut remaining = 1_000_000;
        let mut check = async |times: u32| {
            for _ in 0..times {
                let decision = veteran.check(&limit, &key, Ask::new(1)).await.expect("the connection has dropped");
                assert!(decision.remaining < remaining, "a lost connection would have charged or counted anew");
                remaining = decision.remaining;
            }
        };
        check(100).await;
        secure.folder.put_papers(&next.issue());
        secure.node.signal(Signal::HUP);
        let trusting_next = Tls::trusting(next.root().as_bytes()).unwrap();
        let began = Instant::now();
        while !store(&secure.node, Some(trusting_next.clone())).ready(Duration::from_millis(200)).await {
            check(100).await;
            assert!(began.elapsed() < PATIENCE, "the new certificate is never shown");
        }
        check(100).await;
        let late = store(&secure.node, Some(secure.trust()));
        assert!(!late.ready(Duration::from_millis(500)).await, "the old certificate is still shown");
        check(100).await;
    });
    let scraped = https(&secure.node, &next.root()).unwrap();
    assert!(scraped.contains("tallyring_reloads_total{file=\"certificates\",result=\"taken\"} 1\n"), "{scraped}");
}

#[test]
fn a_key_that_does_not_go_with_its_certificate_changes_nothing() {
    let secure = Secure::start(&[]);
    secure.folder.put("node.key", &secure.authority.issue().key);
    secure.node.signal(Signal::HUP);
    let began = Instant::now();
    let refused = "tallyring_reloads_total{file=\"certificates\",result=\"refused\"} 1\n";
    loop {
        let scraped = https(&secure.node, &secure.authority.root()).expect("the old certificate is still shown");
        if scraped.contains(refused) {
            assert!(scraped.contains("tallyring_reload_stale{file=\"certificates\"} 1\n"), "{scraped}");
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{scraped}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = secure.log();
    assert!(log.contains("does not go with the certificate") && !log.contains("PRIVATE KEY"), "{log}");
}

#[test]
fn a_node_does_not_start_with_half_of_what_it_needs() {
    let folder = Folder::new();
    let (authority, other) = (Authority::new("ours"), Authority::new("ours"));
    let papers = authority.issue();
    let certificate = folder.put("node.pem", &papers.certificate);
    let wrong = folder.put("other.key", &other.issue().key);
    let check = |args: &[&str], expect: &str| {
        let output = command().arg("serve").args(ANY_PORTS).args(args).stderr(Stdio::piped()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(expect), "{args:?}: {error}");
    };
    check(&["--tls-cert", &certificate], "tls-cert: there is no --tls-key with it\n");
    check(&["--tls-cert", &certificate, "--tls-key", &wrong], "other.key: does not go with the certificate");
    check(&["--tls-cert", &wrong, "--tls-key", &wrong], "other.key: no certificate in PEM");
    check(&["--tls-cert", &certificate, "--tls-key", &certificate], "node.pem: no private key in PEM");
    check(&["--tls-cert", "/nowhere", "--tls-key", &wrong], "tls-cert: /nowhere: No such file");
}

#[test]
fn who_connects_and_says_nothing_is_cut_off_and_harms_nobody() {
    let secure = Secure::start(&["--shards", "1"]);
    let mut silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(secure.node.native).unwrap()).collect();
    assert!(is_served(&secure.node, Some(secure.trust())), "those who wait hold up those who speak");
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut sink = [0; 64];
        assert_eq!(stream.read(&mut sink).unwrap(), 0, "it was told something without TLS");
    }
    let scraped = https(&secure.node, &secure.authority.root()).unwrap();
    assert!(
        scraped.contains("tallyring_connections_refused_total{door=\"native\",reason=\"slow\"} 200\n"),
        "{scraped}"
    );
    assert!(scraped.contains("tallyring_connections{door=\"native\"} 0\n"), "{scraped}");
}

/// Runs a command against a node; how it ended, and what it said.
fn operate(secure: &Secure, args: &[&str]) -> (i32, String) {
    let output = command()
        .args(args)
        .env("TALLYRING_HTTP_ADDR", secure.node.http.to_string())
        .env("TALLYRING_NATIVE_ADDR", secure.node.native.to_string())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn an_operators_commands_come_in_over_tls() {
    let secure = Secure::start(&["--shards", "2"]);
    let ca = secure.folder.put("ca.pem", &secure.authority.root());
    let rules =
        "[[rule]]\nid = \"a\"\nkey = [\"client\"]\nalgorithm = \"fixed_window\"\nlimit = 2\ncalendar = \"month\"\n";
    let rules = secure.folder.put("rules.toml", rules);
    let trusting = |args: &[&str]| operate(&secure, &[args, &["--tls-ca", &ca]].concat());
    assert_eq!(trusting(&["rules", "push", &rules]), (0, "version 1 is live\n".to_owned()));
    let (code, said) = trusting(&["check", "--client", "acme"]);
    assert!(code == 0 && said.starts_with("allowed by a, by version 1 of the rules\n"), "{said}");
    assert_eq!(trusting(&["reset", "--client", "acme"]), (0, "a acme: 1 of 2 left, now all again\n".to_owned()));
    assert_eq!(trusting(&["reset", "k"]), (5, "nothing was counted under this key\n".to_owned()));
    let address = format!("https://{}", secure.node.http);
    let (code, said) = trusting(&["rules", "history", "--http-addr", &address]);
    assert!(code == 0 && said.contains("\n*       1  "), "{said}");
}

#[test]
fn an_operator_asks_for_the_name_that_it_called() {
    let secure = Secure::start(&["--shards", "1", "--http-addr", "127.0.0.2:0"]);
    let ca = secure.folder.put("ca.pem", &secure.authority.root());
    let (code, said) = operate(&secure, &["rules", "pull", "--tls-ca", &ca]);
    assert!(
        code == 4 && said.contains("its certificate is for another name: call it by that with --http-addr ("),
        "{said}"
    );
}

#[test]
fn an_operator_who_trusts_another_or_nobody_is_told_so() {
    let secure = Secure::start(&["--shards", "1"]);
    let check = |args: &[&str], code: i32, expect: &str| {
        let (ended, said) = operate(&secure, args);
        assert!(ended == code && said.contains(expect), "{args:?}: {ended} {said}");
    };
    let other = secure.folder.put("other.pem", &Authority::new("another").root());
    check(&["rules", "pull", "--tls-ca", &other], 4, "its certificate is not from --tls-ca: name the roots");
    check(&["check", "--client", "a", "--tls-ca", &other], 4, "its certificate is not from --tls-ca");
    check(&["rules", "pull"], 4, "it speaks TLS: name the roots of its certificate with --tls-ca FILE");
    check(&["check", "--client", "a"], 4, "it speaks TLS: name the roots of its certificate with --tls-ca FILE");
    check(&["rules", "pull", "--http-addr", "https://localhost:1"], 2, "https:// needs --tls-ca FILE");
    check(&["rules", "pull", "--http-addr", "ftp://localhost:1"], 2, "\"ftp\" is neither http nor https");
    let bad = secure.folder.put("bad.pem", "hello");
    check(&["rules", "pull", "--tls-ca", &bad], 1, &format!("tls-ca: {bad}: no certificate in PEM"));
    check(&["check", "--client", "a", "--tls-ca", &bad], 1, &format!("tls-ca: {bad}: no certificate in PEM"));
    check(&["rules", "pull", "--tls-ca", "/nowhere"], 1, "tls-ca: /nowhere: No such file or directory");
    check(&["rules", "pull", "--tls-cert", &other], 2, "the following required arguments were not provided");
}

#[test]
fn an_operator_shows_a_certificate_where_the_node_asks_for_one() {
    let ours = Authority::new("ours");
    let folder = Folder::new();
    let root = folder.put("ca.pem", &ours.root());
    let papers = ours.issue();
    let own = ours.issue();
    let secure = Secure::start_with(ours, &papers, &["--shards", "1", "--tls-ca", &root]);
    let (certificate, key) = (folder.put("own.pem", &own.certificate), folder.put("own.key", &own.key));
    let check = ["check", "k", "--limit", "2", "--window", "1h", "--tls-ca", &root];
    let (code, said) = operate(&secure, &check);
    let expect = "it asks for a certificate: show one with --tls-cert FILE and --tls-key FILE\n";
    assert_eq!((code, said), (4, format!("tallyring: {}: {expect}", secure.node.native)));
    let other = Authority::new("another").issue();
    let (strange, its_key) = (folder.put("strange.pem", &other.certificate), folder.put("strange.key", &other.key));
    let (code, said) = operate(&secure, &[&check[..], &["--tls-cert", &strange, "--tls-key", &its_key]].concat());
    assert!(code == 4 && said.contains("it does not take the certificate of --tls-cert ("), "{said}");
    let showing = [&check[..], &["--tls-cert", &certificate, "--tls-key", &key]].concat();
    let (code, said) = operate(&secure, &showing);
    assert!(code == 0 && said.starts_with("allowed: 1 of 2 left"), "{said}");
}

#[test]
fn the_end_of_a_certificate_is_known_beforehand() {
    let secure = Secure::start(&[]);
    let metrics = https(&secure.node, &secure.authority.root()).unwrap();
    let line = "\ntallyring_certificate_expiry_timestamp_seconds{file=\"cert\"} 64060588800\n"; // 1 January 4000
    assert!(metrics.contains(line), "{metrics}");
    assert!(!metrics.contains("expiry_timestamp_seconds{file=\"ca\"}"), "{metrics}");
}
