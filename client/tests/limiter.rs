//! The limiter against a store that comes and goes.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;

use std::time::{Duration, Instant};

use fake::{FakeStore, Manners, Saying};
use tallyring_client::{
    Algorithm, Ask, Decision, Limit, LimiterConfig, LimiterError, Mode, Period, RateLimiter, Source, Store, StoreConfig,
};

fn bucket(burst: u64) -> Limit {
    Limit::new(Algorithm::TokenBucket, burst, Period::Micros(1_800_000_000), Some(burst)).unwrap()
}

fn limiter(store: &Store, burst: u64, config: LimiterConfig) -> RateLimiter {
    RateLimiter::new(store.clone(), bucket(burst), config).unwrap()
}

fn with_gateways(fallback_gateways: u32) -> LimiterConfig {
    LimiterConfig { fallback_gateways, ..LimiterConfig::default() }
}

fn nowhere() -> Store {
    Store::open(StoreConfig { seeds: vec!["127.0.0.1:1".into()], ..StoreConfig::default() })
}

/// Makes so many calls and counts those that passed.
async fn admitted(limiter: &RateLimiter, key: &str, calls: u32) -> u32 {
    let mut admitted = 0;
    for _ in 0..calls {
        admitted += u32::from(limiter.check(key).await.allowed);
    }
    admitted
}

async fn decide(limiter: &RateLimiter, source: Source) -> Decision {
    let start = Instant::now();
    loop {
        let decision = limiter.ask("probe", Ask::PEEK).await;
        if decision.source == source {
            return decision;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "never decided by {source:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn while_the_store_answers_its_decisions_count() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), 3, LimiterConfig::default());
    assert_eq!(admitted(&limiter, "k", 5).await, 3);
    let denied = limiter.check("k").await;
    assert_eq!((denied.source, denied.limit, denied.remaining), (Source::Store, 3, 0));
    assert_eq!(denied.retry_after, Some(Duration::from_micros(1_500_000)));
    let counts = limiter.counts();
    assert_eq!((counts.store_allowed, counts.store_denied, counts.fallback_allowed), (3, 3, 0));
}

#[tokio::test]
async fn without_a_store_a_gateway_admits_its_share_and_answers_at_once() {
    let limiter = limiter(&nowhere(), 40, with_gateways(4));
    let start = Instant::now();
    assert_eq!(admitted(&limiter, "k", 100).await, 10);
    assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
    let denied = limiter.check("k").await;
    assert_eq!((denied.source, denied.limit), (Source::Fallback, 10));
    assert!(denied.retry_after.unwrap() > Duration::ZERO);
}

#[tokio::test]
async fn a_silent_store_costs_one_deadline_and_then_nothing() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(20));
    let limiter = limiter(&store, 1_000, LimiterConfig::default());
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Silent);
    let start = Instant::now();
    assert_eq!(limiter.check("k").await.source, Source::Fallback);
    assert!(start.elapsed() < Duration::from_millis(200), "{:?}", start.elapsed());
    admitted(&limiter, "k", 20).await;
    let start = Instant::now();
    assert_eq!(admitted(&limiter, "k", 100).await, 100);
    assert!(start.elapsed() < Duration::from_millis(300), "100 calls took {:?}", start.elapsed());
}

#[tokio::test]
async fn what_the_store_allowed_is_not_allowed_again_when_it_goes() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), 10, LimiterConfig::default());
    assert_eq!(admitted(&limiter, "k", 7).await, 7);
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    assert_eq!(admitted(&limiter, "k", 20).await, 3);
}

#[tokio::test]
async fn when_the_store_is_back_its_decisions_count_again() {
    let fake = FakeStore::start(1).await;
    let address = fake.address();
    let limiter = limiter(&fake.client(), 10, LimiterConfig::default());
    assert_eq!(admitted(&limiter, "k", 2).await, 2);
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    let _back = FakeStore::start_at(&address, 1, 1).await;
    decide(&limiter, Source::Store).await;
    assert_eq!(admitted(&limiter, "k", 20).await, 10, "this store has forgotten the two");
}

#[tokio::test]
async fn the_store_says_how_many_gateways_share_and_its_last_number_is_kept() {
    let fake = FakeStore::start(1).await;
    fake.tell(|topology| topology.gateways = 5);
    let limiter = limiter(&fake.client(), 100, with_gateways(1));
    decide(&limiter, Source::Store).await;
    fake.stop().await;
    assert_eq!(decide(&limiter, Source::Fallback).await.limit, 20);
}

#[tokio::test]
async fn a_limiter_that_denies_without_the_store_says_so() {
    let config = LimiterConfig { mode: Mode::Deny, ..LimiterConfig::default() };
    let limiter = limiter(&nowhere(), 10, config);
    let denied = limiter.check("k").await;
    assert_eq!((denied.allowed, denied.source, denied.limit), (false, Source::Mode, 10));
    assert!(denied.retry_after.unwrap() > Duration::ZERO);
    assert_eq!(limiter.counts().mode_denied, 1);
}

#[tokio::test]
async fn every_failure_of_the_store_leads_to_the_fallback() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(100));
    let limiter = limiter(&store, 100, LimiterConfig::default());
    let strangers = Saying::WrongOwner { node: 1, address: fake.address() };
    for saying in [
        Saying::Overloaded,
        Saying::Full,
        Saying::Unavailable,
        Saying::Invalid,
        Saying::Moving { retry_us: 1_000_000 },
        strangers,
    ] {
        fake.be(Manners::Say(saying.clone()));
        let decision = limiter.check("k").await;
        assert_eq!((decision.source, decision.allowed), (Source::Fallback, true), "{saying:?}");
    }
}

#[tokio::test]
async fn a_refund_returns_units_wherever_they_were_taken() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), 2, LimiterConfig::default());
    let decision = limiter.check("k").await;
    limiter.refund("k", 1, &decision).await;
    assert_eq!(admitted(&limiter, "k", 5).await, 2);
    let denied = limiter.check("k").await;
    limiter.refund("k", 1, &denied).await;
    assert_eq!(admitted(&limiter, "k", 5).await, 0, "a refused request took nothing to give back");
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    let decision = limiter.check("other").await;
    limiter.refund("other", 1, &decision).await;
    assert_eq!(admitted(&limiter, "other", 5).await, 2);
}

#[tokio::test]
async fn impossible_limiters_are_refused() {
    let concurrency = Limit::new(Algorithm::Concurrency, 3, Period::Micros(1_000_000), None).unwrap();
    let refused = |limit, name: &str| {
        let config = LimiterConfig { name: name.to_owned(), ..LimiterConfig::default() };
        RateLimiter::new(nowhere(), limit, config).map(|_| ()).unwrap_err()
    };
    assert_eq!(refused(concurrency, "n"), LimiterError::Concurrency);
    for name in ["", "new\nline", "ümlaut", &"x".repeat(65)] {
        assert_eq!(refused(bucket(1), name), LimiterError::Name { name: name.to_owned() });
    }
}
