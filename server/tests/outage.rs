//! The store is killed and started again, ten times, under load: its gateway goes on answering, within its share of the
//! limits, and the store learns afterwards what was admitted without it.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of real processes")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{PATIENCE, Serve};
use tallyring_client::{Call, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};
use tokio::task::JoinSet;

/// How often the store is killed.
const OUTAGES: u64 = 10;

/// Tasks that ask all the time.
const CALLERS: u64 = 4;

/// Clients that ask until the store goes or comes; then others do.
const CLIENTS: u64 = 20;

/// Units of a client; none comes back while the test runs.
const LIMIT: u64 = 500;

fn limiter(node: &str) -> RateLimiter {
    let rule = r#"{"id":"c","key":["client"],"algorithm":"token_bucket","window":"400d","limit":"#;
    let rules = RuleSet::from_json(format!(r#"{{"rule":[{rule}{LIMIT}}}]}}"#).as_bytes()).unwrap();
    let store = Store::open(StoreConfig { seeds: vec![node.to_owned()], ..StoreConfig::default() });
    RateLimiter::new(store, RateLimiterConfig { baked_in: rules, ..RateLimiterConfig::default() })
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < give_up, "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// What the callers saw.
#[derive(Debug, Default)]
struct Seen {
    stop: AtomicBool,
    /// Which clients ask: new ones when the store goes, and when it is back.
    era: AtomicU64,
    asked: AtomicU64,
    admitted_alone: AtomicU64,
}

/// Asks until it is told to stop; how long each answer took.
async fn keep_asking(limiter: RateLimiter, seen: Arc<Seen>, caller: u64) -> Vec<Duration> {
    let mut took = Vec::new();
    while !seen.stop.load(Ordering::Relaxed) {
        let client = format!("{}-{}", seen.era.load(Ordering::Relaxed), (caller + took.len() as u64) % CLIENTS);
        let begun = Instant::now();
        let decision = limiter.check(&Call::new(Subject { client: Some(&client), ..Subject::new("GET", "/") })).await;
        took.push(begun.elapsed());
        let alone = decision.allowed && decision.source() == Source::Fallback;
        seen.admitted_alone.fetch_add(u64::from(alone), Ordering::Relaxed);
        seen.asked.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_killed_ten_times_under_load_leaves_no_call_unanswered_and_is_told_what_was_admitted() {
    let mut serve = Serve::start(&[]);
    let address = serve.native.to_string();
    let limiter = limiter(&address);
    assert!(limiter.store().ready(PATIENCE).await);
    let (seen, mut callers) = (Arc::new(Seen::default()), JoinSet::new());
    (0..CALLERS).for_each(|caller| {
        callers.spawn(keep_asking(limiter.clone(), Arc::clone(&seen), caller));
    });
    for outage in 1..=OUTAGES {
        let before = limiter.counts();
        drop(serve); // kill -9
        seen.era.store(2 * outage, Ordering::Relaxed);
        let alone = || limiter.counts().fallback_allowed > before.fallback_allowed + 20;
        until("the gateway to go on alone", alone).await;
        serve = Serve::start(&["--native-addr", &address]);
        let asked = || limiter.counts().store_allowed > before.store_allowed;
        seen.era.store(2 * outage + 1, Ordering::Relaxed);
        until("the store to decide again", asked).await;
        until("the charges", || limiter.counts().arrears_owed == 0).await;
    }
    seen.stop.store(true, Ordering::Relaxed);
    let mut took: Vec<Duration> = callers.join_all().await.into_iter().flatten().collect();
    took.sort_unstable();
    let percentile = |percent: usize| took[(took.len() - 1) * percent / 100];
    until("the last charges", || limiter.counts().arrears_owed == 0).await;
    let (counts, alone) = (limiter.counts(), seen.admitted_alone.load(Ordering::Relaxed));
    println!("{} calls: p50 {:?}, p99 {:?}, max {:?}", took.len(), percentile(50), percentile(99), percentile(100));
    println!("admitted alone {alone}, {counts:?}");
    assert_eq!(took.len() as u64, seen.asked.load(Ordering::Relaxed));
    assert_eq!(counts.fallback_allowed, alone);
    assert!(alone <= 2 * OUTAGES * CLIENTS * LIMIT, "one gateway's share is the whole limit, once for each client");
    assert_eq!(counts.arrears_charged + counts.arrears_lost, alone);
}
