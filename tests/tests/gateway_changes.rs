//! Gateways under load while their node changes its rules, or goes and comes back.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real sockets")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tallyring::config::Config;
use tallyring::node::Node;
use tallyring_client::{Call, Decision, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};
use tallyring_tests::local::config;
use tokio::task::JoinSet;

/// Tasks that ask all the time.
const CALLERS: u64 = 4;

/// How often the node is stopped and started.
const RESTARTS: u64 = 3;

/// Nothing comes back while a test runs.
fn document(limit: u64) -> String {
    let (per_client, per_tenant) = (
        format!(
            r#"{{"id":"c","group":"c","key":["client"],"algorithm":"token_bucket","limit":{limit},"window":"400d"}}"#
        ),
        format!(
            r#"{{"id":"t","group":"t","key":["tenant"],"algorithm":"token_bucket","limit":{limit},"window":"400d"}}"#
        ),
    );
    format!(r#"{{"rule":[{per_client},{per_tenant}]}}"#)
}

fn limiter(node: SocketAddr, deadline: Duration) -> RateLimiter {
    let store = Store::open(StoreConfig { seeds: vec![node.to_string()], deadline, ..StoreConfig::default() });
    let baked_in = RuleSet::from_json(document(1_000).as_bytes()).unwrap();
    RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
}

/// Publishes rules over whatever is live.
fn push(http: SocketAddr, json: &str) {
    let mut stream = TcpStream::connect(http).unwrap();
    let head = format!(
        "PUT /v1/rules HTTP/1.1\r\nHost: {http}\r\nIf-Match: *\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        json.len()
    );
    stream.write_all(format!("{head}{json}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// Asks for ten clients and five tenants in turn until it is told to stop, and hands every decision to `look`.
fn keep_asking(
    limiter: &RateLimiter,
    look: impl Fn(&Decision) + Clone + Send + Sync + 'static,
) -> (Arc<AtomicBool>, JoinSet<u64>) {
    let (stop, mut tasks) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for caller in 0..CALLERS {
        let (limiter, stop, look) = (limiter.clone(), Arc::clone(&stop), look.clone());
        tasks.spawn(async move {
            let mut calls = 0;
            while !stop.load(Ordering::Relaxed) {
                let (client, tenant) = (format!("c{}", (caller + calls) % 10), format!("t{}", calls % 5));
                let subject = Subject { client: Some(&client), tenant: Some(&tenant), ..Subject::new("GET", "/") };
                look(&limiter.check(&Call::new(subject)).await);
                calls += 1;
                tokio::task::yield_now().await;
            }
            calls
        });
    }
    (stop, tasks)
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_are_pushed_under_load_are_in_force_soon_and_every_decision_is_of_one_document() {
    let node = Node::start(config(2)).await.unwrap();
    let limiter = limiter(node.native_addr(), Duration::from_secs(10));
    assert!(limiter.store().ready(Duration::from_secs(20)).await);
    let look = |decision: &Decision| {
        assert_eq!(decision.checks.iter().map(|check| check.rule.id()).collect::<Vec<_>>(), ["c", "t"]);
        for check in &decision.checks {
            assert_eq!(check.limit, 1_000 + decision.version.version, "{decision:?}");
            assert!(matches!(check.source, Source::Store | Source::DenyCache), "{decision:?}");
        }
    };
    let (stop, tasks) = keep_asking(&limiter, move |decision| {
        if decision.allowed {
            look(decision);
        }
    });
    for n in 1..=10 {
        let pushed = Instant::now();
        let http = node.http_addr();
        tokio::task::spawn_blocking(move || push(http, &document(1_000 + n))).await.unwrap();
        until("the push", || limiter.version().version == n).await;
        println!("document {n} in force after {:?}", pushed.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    let calls: u64 = tasks.join_all().await.iter().sum();
    let counts = limiter.counts();
    println!("{calls} calls, {counts:?}");
    assert_eq!((counts.fallback_allowed, counts.fallback_denied, counts.mode_denied), (0, 0, 0));
    node.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_and_comes_back_is_charged_with_what_was_admitted_without_it() {
    let mut node = Node::start(config(2)).await.unwrap();
    let address = node.native_addr();
    let limiter = limiter(address, Duration::from_millis(20));
    assert!(limiter.store().ready(Duration::from_secs(20)).await);
    let admitted = Arc::new(AtomicU64::new(0));
    let (stop, tasks) = keep_asking(&limiter, {
        let admitted = Arc::clone(&admitted);
        move |decision| {
            let alone = decision.checks.iter().filter(|check| check.source == Source::Fallback).count() as u64;
            admitted.fetch_add(if decision.allowed { alone } else { 0 }, Ordering::Relaxed);
        }
    });
    for _ in 0..RESTARTS {
        let before = limiter.counts();
        node.drain().await;
        until("the fallback", || limiter.counts().fallback_denied > before.fallback_denied).await;
        node = Node::start(Config { native_addr: address, ..config(2) }).await.unwrap();
        until("the store", || limiter.counts().store_allowed > before.store_allowed).await;
        until("the charges", || limiter.counts().arrears_owed == 0).await;
    }
    stop.store(true, Ordering::Relaxed);
    let calls: u64 = tasks.join_all().await.iter().sum();
    until("the last charges", || limiter.counts().arrears_owed == 0).await;
    let (counts, admitted) = (limiter.counts(), admitted.load(Ordering::Relaxed));
    println!("{calls} calls, {admitted} admitted alone, {counts:?}");
    assert!(admitted > 0);
    assert_eq!(counts.arrears_charged + counts.arrears_lost, admitted);
    node.drain().await;
}
