//! Stores that go, hang and come back.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;
mod gate;

use std::time::Duration;

use fake::{FakeStore, Manners};
use gate::{check, decide, limiter, rule, until};
use tallyring_client::{RateLimiter, Source};
use tokio::task::JoinSet;

/// A bucket that gains nothing while a test runs.
fn bucket(burst: u64) -> String {
    rule("r", "client", &format!(r#""algorithm":"token_bucket","limit":{burst},"window":"30m""#))
}

/// Makes so many calls at the same time; says who decided them.
async fn at_once(limiter: &RateLimiter, calls: usize) -> Vec<Source> {
    let mut tasks = JoinSet::new();
    for _ in 0..calls {
        let limiter = limiter.clone();
        tasks.spawn(async move { check(&limiter, "k").await.source() });
    }
    tasks.join_all().await
}

#[tokio::test]
async fn what_the_fallback_admitted_is_charged_to_the_store_that_is_back() {
    let fake = FakeStore::start(1).await;
    let address = fake.address();
    let limiter = limiter(&fake.client(), &[bucket(40)]);
    assert!(check(&limiter, "k").await.allowed);
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    let (mut decisions, mut others) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        decisions.push(check(&limiter, "k").await);
        others.push(check(&limiter, "other").await);
    }
    limiter.refund(&decisions[0]).await;
    assert_eq!(limiter.counts().arrears_owed, 13);

    let back = FakeStore::start_at(&address, 1, 1).await;
    until("the charges", || limiter.counts().arrears_charged == 13).await;
    assert_eq!((back.used(decisions[0].checks[0].key()), back.used(others[0].checks[0].key())), (6, 7));
    assert_eq!((back.times("check"), limiter.counts().arrears_owed), (2, 0), "one charge a key");
}

#[tokio::test]
async fn a_store_that_could_not_answer_for_a_while_is_charged_when_it_can() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[bucket(40)]);
    let before = check(&limiter, "k").await;
    fake.be(Manners::Say(fake::Saying::Unavailable));
    for _ in 0..8 {
        assert_eq!(check(&limiter, "k").await.source(), Source::Fallback);
    }
    fake.be(Manners::Count);
    until("the charge", || limiter.counts().arrears_charged == 8).await;
    assert_eq!(fake.used(before.checks[0].key()), 9);
}

/// Case client-brk-02: the breaker is open, its time is over, 50 calls come at once, the store hangs.
#[tokio::test]
async fn of_many_calls_to_a_store_that_hangs_one_is_the_probe_and_the_others_are_answered_here() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(20));
    let limiter = limiter(&store, &[bucket(1_000)]);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Silent);
    tokio::time::pause(); // from here on nothing but timers happens
    let opened = at_once(&limiter, 8).await;
    assert_eq!(opened, [Source::Fallback; 8]);
    for bursts in 1..=3 {
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(at_once(&limiter, 50).await, [Source::Fallback; 50]);
        let sent = fake.times("check");
        assert!(sent <= 8 + bursts, "{sent} sent after {bursts} bursts: more than a probe each");
    }
    until("a probe", || fake.times("check") > 8).await;
}

/// Case client-pool-01: the store is paused; a call every millisecond for five seconds, each with 50 ms.
#[tokio::test]
async fn a_paused_store_costs_a_bounded_number_of_connections_and_nobody_more_than_the_deadline() {
    let fake = FakeStore::start(8).await;
    let store = fake.client_with(|config| {
        config.deadline = Duration::from_millis(50);
        config.in_flight_max = 16;
    });
    let limiter = limiter(&store, &[bucket(1_000_000)]);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Silent);
    tokio::time::pause();
    let mut calls = JoinSet::new();
    for n in 0..5_000 {
        let limiter = limiter.clone();
        calls.spawn(async move {
            let start = tokio::time::Instant::now();
            let decision = check(&limiter, &format!("k{n}")).await;
            (decision.source(), start.elapsed())
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(fake.open() <= 8, "{} connections", fake.open());
    }
    for (source, took) in calls.join_all().await {
        assert_eq!(source, Source::Fallback);
        assert!(took <= Duration::from_millis(60), "{took:?} of virtual time");
    }
}
