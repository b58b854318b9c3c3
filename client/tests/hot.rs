//! Keys that are asked about all the time: what is answered here, and what the store is told of it.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;
mod gate;

use std::time::Duration;

use fake::{FakeStore, Manners, Saying};
use gate::{ask, check, hourly, in_group, limiter, rule, subject, until};
use tallyring_client::{Call, Decision, Source};

fn fixed(limit: u64, more: &str) -> String {
    rule("r", "client", &format!(r#""algorithm":"fixed_window","limit":{limit},"window":"1h"{more}"#))
}

fn sources(decisions: &[Decision]) -> Vec<(bool, Source)> {
    decisions.iter().map(|decision| (decision.allowed, decision.source())).collect()
}

const ALLOWED: (bool, Source) = (true, Source::Store);
const DENIED: (bool, Source) = (false, Source::Store);
const REMEMBERED: (bool, Source) = (false, Source::DenyCache);

#[tokio::test]
async fn a_refusal_that_still_holds_is_not_asked_for_again() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(1, "")]);
    let mut decisions = Vec::new();
    for _ in 0..4 {
        decisions.push(check(&limiter, "k").await);
    }
    assert_eq!(sources(&decisions), [ALLOWED, DENIED, REMEMBERED, REMEMBERED]);
    let (told, remembered) = (decisions[1].retry_after().unwrap(), decisions[3].retry_after().unwrap());
    assert!(remembered <= told && remembered > told / 2, "{remembered:?} of {told:?}");
    assert_eq!(fake.times("check"), 2);
    assert!(check(&limiter, "other").await.allowed);
}

/// Case client-deny-02: 10 units, of which 8 are used; 5, 1 and 5 again.
#[tokio::test]
async fn a_refused_big_call_says_nothing_about_a_small_one() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(10, "")]);
    let mut decisions = Vec::new();
    for cost in [8, 5, 1, 5] {
        decisions.push(ask(&limiter, "k", cost).await);
    }
    assert_eq!(sources(&decisions), [ALLOWED, DENIED, ALLOWED, REMEMBERED]);
}

/// Case client-deny-04: a reset and a refund through the same client.
#[tokio::test]
async fn what_is_given_back_here_is_seen_at_once() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(1, "")]);
    let decisions = [check(&limiter, "k").await, check(&limiter, "k").await, check(&limiter, "k").await];
    assert_eq!(sources(&decisions), [ALLOWED, DENIED, REMEMBERED]);
    limiter.reset(&Call::new(subject("k"))).await.unwrap();
    let again = check(&limiter, "k").await;
    assert_eq!(again.source(), Source::Store);
    assert!(again.allowed && !check(&limiter, "k").await.allowed);
    limiter.refund(&again).await;
    assert!(check(&limiter, "k").await.allowed);
}

#[tokio::test]
async fn a_settle_is_seen_at_once_too() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(10, "")]);
    let reserved = limiter.reserve(&Call { cost: 10, ..Call::new(subject("k")) }, Duration::from_secs(60)).await;
    assert!(!check(&limiter, "k").await.allowed);
    reserved.settle(4).await.unwrap();
    assert!(check(&limiter, "k").await.allowed);
}

#[tokio::test]
async fn only_a_decision_of_the_store_is_remembered() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(9, r#","mode":"deny""#)]);
    for saying in [Saying::Full, Saying::Overloaded, Saying::Unavailable] {
        fake.be(Manners::Say(saying));
        assert_eq!(check(&limiter, "k").await.source(), Source::Mode);
    }
    fake.be(Manners::Count);
    assert!(check(&limiter, "k").await.allowed);
}

#[tokio::test]
async fn a_denied_slot_is_asked_for_again() {
    let fake = FakeStore::start(1).await;
    let limiter =
        limiter(&fake.client(), &[rule("r", "client", r#""algorithm":"concurrency","limit":1,"window":"60s""#)]);
    let held = check(&limiter, "k").await;
    assert_eq!([check(&limiter, "k").await.source(), check(&limiter, "k").await.source()], [Source::Store; 2]);
    drop(held);
    until("the release", || fake.held() == 0).await;
    assert!(check(&limiter, "k").await.allowed);
}

#[tokio::test]
async fn an_important_call_asks_in_spite_of_a_refusal() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(1, r#","priorities":{"critical":"always"}"#)]);
    assert_eq!(sources(&[check(&limiter, "k").await, check(&limiter, "k").await]), [ALLOWED, DENIED]);
    let call = Call { priority: Some("critical"), ..Call::new(subject("k")) };
    assert_eq!(sources(&[limiter.check(&call).await]), [ALLOWED]);
}

#[tokio::test]
async fn what_was_decided_here_is_reported_in_batches() {
    let fake = FakeStore::start(1).await;
    let blocks = r#"{"id":"b","group":"b","match":{"tenant":"t"},"action":"block"}"#.to_owned();
    let limiter = limiter(&fake.client(), &[fixed(1, ""), blocks]);
    for _ in 0..6 {
        check(&limiter, "k").await;
    }
    for _ in 0..3 {
        check(&limiter, "other/t").await;
    }
    until("the reports", || fake.reported("r", false).deny_cache == 4 && fake.reported("b", false).blocked == 3).await;
    assert_eq!(fake.times("report"), 2);
}

#[tokio::test]
async fn what_was_allowed_near_the_end_is_reported() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(4, r#","soft":"0.75""#)]);
    for _ in 0..6 {
        check(&limiter, "k").await;
    }
    until("the report", || fake.reported("r", false).soft == 2).await;
}

/// Case rules-shadow-02: 10 units, 100 requests, the deny cache is on.
#[tokio::test]
async fn a_rule_in_shadow_counts_every_denial_whoever_knew_of_it_and_touches_no_answer() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(10, r#","mode":"shadow""#)]);
    for _ in 0..100 {
        let decision = check(&limiter, "k").await;
        assert!(decision.allowed && decision.checks.is_empty());
        tokio::task::yield_now().await;
    }
    until("every question", || limiter.counts().shadow_allowed + limiter.counts().shadow_denied == 100).await;
    assert_eq!((limiter.counts().shadow_denied, limiter.counts().shadow_skipped), (90, 0));
    let remembered = 100 - fake.times("check") as u64;
    until("the report", || fake.reported("r", true).deny_cache == remembered).await;
}

#[tokio::test]
async fn a_rule_in_shadow_is_asked_only_about_requests_that_were_admitted() {
    let fake = FakeStore::start(1).await;
    let shadow = in_group("s", "client", "s", r#""algorithm":"fixed_window","limit":9,"window":"1h","mode":"shadow""#);
    let limiter = limiter(&fake.client(), &[fixed(1, ""), shadow]);
    for _ in 0..5 {
        check(&limiter, "k").await;
    }
    until("the question", || limiter.counts().shadow_allowed == 1).await;
    assert_eq!(fake.times("check"), 3, "one in shadow, one admitted, one denied");
}

#[tokio::test]
async fn slots_in_shadow_are_held_and_released_and_deny_nobody() {
    let fake = FakeStore::start(1).await;
    let shadow = r#""algorithm":"concurrency","limit":1,"window":"60s","mode":"shadow""#;
    let limiter = limiter(&fake.client(), &[rule("r", "client", shadow)]);
    let first = check(&limiter, "k").await;
    until("the slot", || fake.held() == 1).await;
    assert!(check(&limiter, "k").await.allowed);
    until("the denial", || limiter.counts().shadow_denied == 1).await;
    drop(first);
    until("the release", || fake.held() == 0).await;
}

#[tokio::test]
async fn a_grant_serves_many_calls_and_admits_no_more_than_the_limit() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(25, r#","grant":10"#)]);
    let mut decisions = Vec::new();
    for _ in 0..27 {
        decisions.push(check(&limiter, "k").await);
    }
    assert_eq!(decisions.iter().filter(|decision| decision.allowed).count(), 25);
    assert_eq!(decisions[0].source(), Source::Grant);
    assert_eq!((decisions[0].checks[0].remaining, decisions[9].checks[0].remaining), (24, 15));
    assert_eq!(sources(&decisions[25..]), [DENIED, REMEMBERED]);
    assert_eq!((fake.times("take"), fake.times("check")), (4, 1), "25 in three grants; the fourth is empty");
    assert_eq!((limiter.counts().grant_allowed, limiter.counts().grants_outstanding), (25, 0));
}

#[tokio::test]
async fn units_that_are_taken_ahead_are_known() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(25, r#","grant":10"#)]);
    let decision = ask(&limiter, "k", 3).await;
    assert_eq!(limiter.counts().grants_outstanding, 7);
    limiter.refund(&decision).await;
    assert_eq!(limiter.counts().grants_outstanding, 10);
}

#[tokio::test]
async fn a_grant_gets_its_units_back_when_another_rule_denies() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(25, r#","grant":10"#), hourly("other", "client", 1)]);
    assert!(check(&limiter, "k").await.allowed);
    assert!(!check(&limiter, "k").await.allowed);
    assert_eq!(limiter.counts().grants_outstanding, 9);
}

#[tokio::test]
async fn a_gateway_that_has_let_the_whole_limit_pass_by_itself_need_not_ask() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[fixed(3, r#","prefilter":true"#)]);
    let mut decisions = Vec::new();
    for _ in 0..5 {
        decisions.push(check(&limiter, "k").await);
    }
    let filtered = (false, Source::Prefilter);
    assert_eq!(sources(&decisions), [ALLOWED, ALLOWED, ALLOWED, filtered, filtered]);
    assert_eq!(fake.times("check"), 3);
    assert!(decisions[4].retry_after().unwrap() > Duration::ZERO);
    limiter.refund(&decisions[0]).await;
    assert!(check(&limiter, "k").await.allowed);
}
