//! A gateway over real sockets: client → HTTP → layer → native protocol → node, beside the trace of the same requests.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real sockets")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::{Router, routing::get};
use tallyring::cli::trace::Trace;
use tallyring::config::Config;
use tallyring::node::Node;
use tallyring_client::middleware::{Identity, RateLimitLayer};
use tallyring_client::{Call, Decision, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};
use tallyring_tests::local::{any_port, config};

/// Requests of the log that are sent.
const REQUESTS: usize = 2_000;

/// Nothing comes back while the test runs: 400 days a token, so the outcome does not depend on the time of day.
const PERIOD_US: u64 = 400 * 86_400 * 1_000_000;

/// Requests that one client may make.
const BURST: u64 = 10;

fn rules() -> RuleSet {
    let rule = format!(
        r#"{{"id":"per-client","key":["client"],"missing":"ip","algorithm":"token_bucket","limit":1,"window":"{PERIOD_US}us","burst":{BURST}}}"#
    );
    let defaults = r#"{"trusted_proxies":["127.0.0.0/8"]}"#;
    RuleSet::from_json(format!(r#"{{"defaults":{defaults},"rule":[{rule}]}}"#).as_bytes()).unwrap()
}

fn limiter(node: SocketAddr) -> RateLimiter {
    let deadline = Duration::from_secs(10); // a busy machine must not turn an exact count into a fallback
    let store = Store::open(StoreConfig { seeds: vec![node.to_string()], deadline, ..StoreConfig::default() });
    RateLimiter::new(store, RateLimiterConfig { baked_in: rules(), ..RateLimiterConfig::default() })
}

/// Serves a backend behind the layer, for clients whose address a proxy on this machine names.
async fn gateway(limiter: RateLimiter) -> SocketAddr {
    let app = Router::new().fallback(get(|| async { "ok" })).layer(RateLimitLayer::new(limiter, whose));
    let listener = tokio::net::TcpListener::bind(any_port()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    address
}

fn whose(request: &Parts) -> Identity<'_> {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    Identity { peer, ..Identity::default() }
}

/// Sends a request for each address, one after the other on one connection, and says which were allowed.
fn send_each(gateway: SocketAddr, addresses: &[IpAddr]) -> Vec<bool> {
    let mut stream = BufReader::new(TcpStream::connect(gateway).unwrap());
    let send = |address: &IpAddr| {
        let request = format!("GET / HTTP/1.1\r\nHost: gateway\r\nX-Forwarded-For: {address}\r\n\r\n");
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        match read_status(&mut stream) {
            200 => true,
            429 => false,
            status => panic!("{status} for {address}"),
        }
    };
    addresses.iter().map(send).collect()
}

/// Reads one response and returns its status.
fn read_status(stream: &mut BufReader<TcpStream>) -> u16 {
    let (mut status, mut body_bytes) = (0, 0);
    for line in stream.by_ref().lines() {
        let line = line.unwrap().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = rest[..3].parse().unwrap();
        } else if let Some(length) = line.strip_prefix("content-length: ") {
            body_bytes = length.parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    std::io::copy(&mut stream.by_ref().take(body_bytes), &mut std::io::sink()).unwrap();
    status
}

/// What `tallyring trace` says about the same requests.
fn trace_each(addresses: &[IpAddr]) -> Vec<bool> {
    let mut trace = Trace::new();
    let decide = |(n, address): (usize, &IpAddr)| {
        let event = format!(
            r#"{{"t_us":{n},"key":"{address}","algorithm":"token_bucket","limit":1,"period_us":{PERIOD_US},"burst":{BURST}}}"#
        );
        trace.line(&event).unwrap().contains(r#""allowed":true"#)
    };
    addresses.iter().enumerate().map(decide).collect()
}

async fn check(addresses: Vec<IpAddr>) {
    let node = Node::start(config(2)).await.unwrap();
    let limiter = limiter(node.native_addr());
    let gateway = gateway(limiter.clone()).await;
    let expect = trace_each(&addresses);
    let sent = tokio::task::spawn_blocking(move || send_each(gateway, &addresses)).await.unwrap();
    assert_eq!(sent, expect);
    let allowed = expect.iter().filter(|allowed| **allowed).count() as u64;
    let counts = limiter.counts();
    let denied = counts.store_denied + counts.deny_cache_denied;
    assert_eq!((counts.store_allowed, denied), (allowed, expect.len() as u64 - allowed));
    assert_eq!((counts.fallback_allowed, counts.fallback_denied), (0, 0));
    node.drain().await;
}

/// Requests of 40 clients, some of them thirty times as busy as others.
fn made_up_requests() -> Vec<IpAddr> {
    let client = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
    (0..600).map(|n| IpAddr::from([198, 18, 0, (client(n) * client(n) / 1_700) as u8])).collect()
}

/// The addresses of the log's first requests; the log is not part of this repository.
fn logged_requests() -> Option<Vec<IpAddr>> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/access.log");
    let path = std::env::var_os("TALLYRING_ACCESS_LOG").map_or(beside, PathBuf::from);
    let log =
        std::fs::read_to_string(&path).inspect_err(|error| println!("skipped: {}: {error}", path.display())).ok()?;
    Some(log.lines().take(REQUESTS).map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_decides_as_the_trace_does() {
    let requests = made_up_requests();
    let mut by_client: BTreeMap<IpAddr, u64> = BTreeMap::new();
    requests.iter().for_each(|address| *by_client.entry(*address).or_default() += 1);
    assert!(by_client.values().any(|n| *n > BURST) && by_client.values().any(|n| *n < BURST), "{by_client:?}");
    check(requests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_decides_a_real_log_as_the_trace_does() {
    if let Some(requests) = logged_requests() {
        assert_eq!(requests.len(), REQUESTS);
        check(requests).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_outlives_its_store_and_is_exact_again_when_it_is_back() {
    let node = Node::start(config(2)).await.unwrap();
    let address = node.native_addr();
    let limiter = limiter(address);
    for _ in 0..4 {
        let decision = ask(&limiter, "k", 1).await;
        assert_eq!((decision.allowed, decision.source()), (true, Source::Store));
    }
    node.drain().await;
    decided_by(&limiter, Source::Fallback).await;
    // Kept warm: four of the units were used already. (A window of an hour and more has a twentieth of its burst.)
    assert!(!ask(&limiter, "k", 1).await.allowed);
    assert!(ask(&limiter, "never seen", 1).await.allowed);

    let node = Node::start(Config { native_addr: address, ..config(2) }).await.unwrap();
    decided_by(&limiter, Source::Store).await;
    assert!(limiter.store().ready(Duration::from_secs(20)).await, "the other shard's connection comes back too");
    let mut allowed = 0;
    for _ in 0..20 {
        allowed += u64::from(ask(&limiter, "k", 1).await.allowed);
    }
    assert_eq!(allowed, BURST, "a node without a disk has forgotten the four");
    node.drain().await;
}

async fn ask(limiter: &RateLimiter, client: &str, cost: u64) -> Decision {
    let subject = Subject { client: Some(client), ..Subject::new("GET", "/") };
    limiter.check(&Call { cost, ..Call::new(subject) }).await
}

async fn decided_by(limiter: &RateLimiter, source: Source) {
    let wait = async {
        while ask(limiter, "probe", 0).await.source() != source {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.unwrap_or_else(|_| panic!("never decided by {source:?}"));
}
