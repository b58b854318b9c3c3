//! The limiter against a store that comes and goes.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;
mod gate;

use std::time::{Duration, Instant};

use fake::{FakeStore, Manners, Saying};
use gate::{ask, check, decide, limiter, nowhere, rule};
use tallyring_client::{Decision, RateLimiter, Source};

/// A bucket that gains nothing while a test runs.
fn bucket(burst: u64) -> String {
    rule("bucket", "client", &format!(r#""algorithm":"token_bucket","limit":{burst},"window":"1800s""#))
}

fn bucket_of(burst: u64, more: &str) -> String {
    let numbers = format!(r#""algorithm":"token_bucket","limit":{burst},"window":"1800s",{more}"#);
    rule("bucket", "client", &numbers)
}

/// Makes so many calls and counts those that passed.
async fn admitted(limiter: &RateLimiter, client: &str, calls: u32) -> u32 {
    let mut admitted = 0;
    for _ in 0..calls {
        admitted += u32::from(check(limiter, client).await.allowed);
    }
    admitted
}

fn limit(decision: &Decision) -> u64 {
    decision.checks[0].limit
}

#[tokio::test]
async fn while_the_store_answers_its_decisions_count() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[bucket(3)]);
    assert_eq!(admitted(&limiter, "k", 3).await, 3);
    let denied = check(&limiter, "k").await;
    assert_eq!((denied.source(), limit(&denied), denied.checks[0].remaining), (Source::Store, 3, 0));
    assert_eq!(denied.retry_after(), Some(Duration::from_micros(1_500_000)));
    assert_eq!(ask(&limiter, "other", 4).await.retry_after(), None, "more than there can ever be");
    let counts = limiter.counts();
    assert_eq!((counts.store_allowed, counts.store_denied, counts.fallback_allowed), (3, 2, 0));
}

#[tokio::test]
async fn a_request_that_no_rule_is_for_passes_and_asks_nobody() {
    let fake = FakeStore::start(1).await;
    let limiter =
        limiter(&fake.client(), &[rule("r", "tenant", r#""algorithm":"fixed_window","limit":1,"window":"60s""#)]);
    let decision = check(&limiter, "k").await;
    assert!(decision.allowed && decision.checks.is_empty() && decision.speaker().is_none());
    assert_eq!(fake.heard(), []);
}

#[tokio::test]
async fn without_a_store_a_gateway_admits_its_share_and_answers_at_once() {
    let limiter = limiter(&nowhere(), &[bucket_of(40, r#""fallback_gateways":4"#)]);
    let start = Instant::now();
    assert_eq!(admitted(&limiter, "k", 100).await, 10);
    assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
    let denied = check(&limiter, "k").await;
    assert_eq!((denied.source(), limit(&denied)), (Source::Fallback, 10));
    assert!(denied.retry_after().unwrap() > Duration::ZERO);
}

#[tokio::test]
async fn a_silent_store_costs_one_deadline_and_then_nothing() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(20));
    let limiter = limiter(&store, &[bucket(1_000)]);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Silent);
    let start = Instant::now();
    assert_eq!(check(&limiter, "k").await.source(), Source::Fallback);
    assert!(start.elapsed() < Duration::from_millis(200), "{:?}", start.elapsed());
    admitted(&limiter, "k", 20).await;
    let start = Instant::now();
    assert_eq!(admitted(&limiter, "k", 100).await, 100);
    assert!(start.elapsed() < Duration::from_millis(300), "100 calls took {:?}", start.elapsed());
}

#[tokio::test]
async fn what_the_store_allowed_is_not_allowed_again_when_it_goes() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[bucket(10)]);
    assert_eq!(admitted(&limiter, "k", 7).await, 7);
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    assert_eq!(admitted(&limiter, "k", 20).await, 3);
}

#[tokio::test]
async fn when_the_store_is_back_its_decisions_count_again() {
    let fake = FakeStore::start(1).await;
    let address = fake.address();
    let limiter = limiter(&fake.client(), &[bucket(10)]);
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
    let limiter = limiter(&fake.client(), &[bucket_of(100, r#""fallback_gateways":1"#)]);
    decide(&limiter, Source::Store).await;
    fake.stop().await;
    assert_eq!(limit(&decide(&limiter, Source::Fallback).await), 20);
}

#[tokio::test]
async fn a_rule_that_denies_without_the_store_says_so() {
    let limiter = limiter(&nowhere(), &[bucket_of(10, r#""mode":"deny""#)]);
    let denied = check(&limiter, "k").await;
    assert_eq!((denied.allowed, denied.source(), limit(&denied)), (false, Source::Mode, 10));
    assert!(denied.retry_after().unwrap() > Duration::ZERO);
    assert_eq!(limiter.counts().mode_denied, 1);
}

#[tokio::test]
async fn every_failure_of_the_store_leads_to_the_fallback() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(100));
    let limiter = limiter(&store, &[bucket(100)]);
    decide(&limiter, Source::Store).await;
    let strangers = Saying::WrongOwner { epoch: 1, node: 1, address: fake.address() };
    for saying in [
        Saying::Overloaded,
        Saying::Full,
        Saying::Unavailable,
        Saying::Invalid,
        Saying::Moving { retry_us: 1_000_000 },
        strangers,
    ] {
        fake.be(Manners::Say(saying.clone()));
        let decision = check(&limiter, "k").await;
        assert_eq!((decision.source(), decision.allowed), (Source::Fallback, true), "{saying:?}");
    }
}

#[tokio::test]
async fn a_refund_returns_units_wherever_they_were_taken() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[bucket(2)]);
    let decision = check(&limiter, "k").await;
    limiter.refund(&decision).await;
    assert_eq!(admitted(&limiter, "k", 5).await, 2);
    let denied = check(&limiter, "k").await;
    limiter.refund(&denied).await;
    assert_eq!(admitted(&limiter, "k", 5).await, 0, "a refused request took nothing to give back");
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    let decision = check(&limiter, "other").await;
    limiter.refund(&decision).await;
    assert_eq!(admitted(&limiter, "other", 5).await, 2);
}
