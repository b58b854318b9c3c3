//! What a decision takes from the allocator.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;
mod gate;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use fake::FakeStore;
use gate::{check, hourly, in_group, limiter, nowhere, rule, rules, subject};
use tallyring_client::{Call, Decision, RateLimiter, Source, Subject};

/// Of a decision by one rule: its key, the rule's part in the call, the rule's part in the answer.
const OF_ONE_RULE: u64 = 3;

const BUCKET: &str = r#""algorithm":"token_bucket","limit":1000,"window":"60s""#;

/// Decides without waiting, and says how often that allocated.
fn decided(limiter: &RateLimiter, client: &str) -> (Decision, u64) {
    let mut decision = None;
    let taken = measure(|| {
        let call = Call::new(subject(client));
        let polled = pin!(limiter.check(&call)).poll(&mut Context::from_waker(Waker::noop()));
        decision = match polled {
            Poll::Ready(decided) => Some(decided),
            Poll::Pending => None,
        };
    });
    (decision.expect("nobody has to be waited for"), taken.count_total)
}

#[track_caller]
fn assert_decided(limiter: &RateLimiter, client: &str, allowed: bool, source: Source, allocations: u64) {
    let (decision, count) = decided(limiter, client);
    assert_eq!((decision.allowed, decision.source(), count), (allowed, source, allocations));
}

#[test]
fn resolving_allocates_the_keys_alone() {
    let eight: Vec<String> = (0..8).map(|n| in_group(&format!("r{n}"), "client", &format!("g{n}"), BUCKET)).collect();
    let rules = rules(&eight);
    let subject = Subject { client: Some("k"), ..Subject::new("GET", "/v1/charges/7") };
    let resolved = measure(|| assert_eq!(rules.resolve(&subject).enforced.len(), 8));
    assert_eq!(resolved.count_total, 8);
}

#[tokio::test]
async fn a_refusal_from_the_deny_cache_allocates_what_it_hands_over() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[hourly("r", "client", 1)]);
    while check(&limiter, "k").await.source() != Source::DenyCache {}
    assert_decided(&limiter, "k", false, Source::DenyCache, OF_ONE_RULE);
}

#[tokio::test]
async fn a_call_that_a_grant_pays_allocates_what_it_hands_over() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[rule("r", "client", &format!(r#"{BUCKET},"grant":100"#))]);
    check(&limiter, "k").await;
    assert_decided(&limiter, "k", true, Source::Grant, OF_ONE_RULE);
}

#[tokio::test]
async fn a_decision_alone_allocates_what_it_hands_over_once_the_key_is_known() {
    let limiter = limiter(&nowhere(), &[rule("r", "client", BUCKET)]);
    while check(&limiter, "other").await.source() != Source::Fallback {}
    check(&limiter, "k").await;
    assert_decided(&limiter, "k", true, Source::Fallback, OF_ONE_RULE);
}

#[tokio::test]
async fn a_decision_of_two_rules_allocates_one_key_more() {
    let limiter = limiter(&nowhere(), &[in_group("a", "client", "a", BUCKET), in_group("b", "client", "b", BUCKET)]);
    check(&limiter, "k").await;
    check(&limiter, "k").await;
    assert_decided(&limiter, "k", true, Source::Fallback, OF_ONE_RULE + 1);
}
