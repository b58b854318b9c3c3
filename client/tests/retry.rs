//! A caller's retries around a client that is a tower service, on a virtual clock.

#![cfg(all(feature = "tower", not(feature = "sim")))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use tallyring_client::middleware::{Identity, RateLimitLayer};
use tallyring_client::retry::{RetryConfig, RetryPolicy};
use tallyring_client::{RateLimiter, RateLimiterConfig, RuleSet, Store, StoreConfig};
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::{Layer, ServiceExt, service_fn};

/// What a server answers, in this order; the last goes on for ever.
type Script = &'static [(u16, Option<&'static str>)];

const REFUSED: (u16, Option<&str>) = (429, Some("10"));

/// What came of a call.
#[derive(Debug, PartialEq, Eq)]
struct Called {
    status: u16,
    attempts: usize,
    /// Whole seconds that passed.
    seconds: u64,
}

async fn call(method: Method, script: Script) -> Called {
    let made = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&made);
    let server = service_fn(move |_: Request<&'static str>| {
        let (status, retry_after) = script[counter.fetch_add(1, Ordering::Relaxed).min(script.len() - 1)];
        let response = retry_after
            .into_iter()
            .fold(Response::builder().status(status), |response, wait| response.header("retry-after", wait));
        async move { Ok::<_, Infallible>(response.body(()).unwrap()) }
    });
    let policy = RetryPolicy::new(RetryConfig { random_seed: Some(1), ..RetryConfig::default() });
    let request = Request::builder().method(method).body("once more").unwrap();
    let began = Instant::now();
    let response = RetryLayer::new(policy.start()).layer(server).oneshot(request).await.unwrap();
    let (status, attempts) = (response.status().as_u16(), made.load(Ordering::Relaxed));
    Called { status, attempts, seconds: began.elapsed().as_secs() }
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_made_again_no_earlier_than_it_was_told() {
    for method in [Method::GET, Method::POST] {
        let called = call(method, &[REFUSED, (200, None)]).await;
        assert_eq!((called.status, called.attempts), (200, 2));
        assert!((10..=20).contains(&called.seconds), "{called:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_stays_refused_ends_with_the_refusal() {
    let called = call(Method::GET, &[REFUSED]).await;
    assert_eq!((called.status, called.attempts), (429, 3));
    assert!((20..=40).contains(&called.seconds), "{called:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_been_carried_out_is_repeated_only_if_that_does_no_harm() {
    let check = async |method: Method, status, attempts| {
        let script: Script = Box::leak(Box::new([(status, None), (200, None)]));
        assert_eq!(call(method.clone(), script).await.attempts, attempts, "{method} {status}");
    };
    check(Method::GET, 502, 2).await;
    check(Method::PUT, 502, 2).await;
    check(Method::POST, 502, 1).await;
    check(Method::POST, 503, 2).await;
    check(Method::GET, 404, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_success_is_not_repeated_and_waits_for_nothing() {
    assert_eq!(call(Method::POST, &[(201, None)]).await, Called { status: 201, attempts: 1, seconds: 0 });
}

#[tokio::test(start_paused = true)]
async fn refused_callers_behind_a_limiter_pass_when_they_come_back() {
    const CALLERS: usize = 300;
    let rule = r#"{"rule":[{"id":"all","algorithm":"fixed_window","limit":200,"window":"60s"}]}"#;
    let nowhere = Store::open(StoreConfig { seeds: vec!["127.0.0.1:1".into()], ..StoreConfig::default() });
    let config = RateLimiterConfig { baked_in: RuleSet::from_json(rule.as_bytes()).unwrap(), ..Default::default() };
    let limiter = RateLimiter::new(nowhere, config);
    let backend =
        service_fn(|_: Request<String>| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
    let api = RateLimitLayer::new(limiter.clone(), |_: &Parts| Identity::default()).layer(backend);

    let mut calls = tokio::task::JoinSet::new();
    for seed in 0..CALLERS {
        let policy = RetryPolicy::new(RetryConfig { random_seed: Some(seed as u64), ..RetryConfig::default() });
        let client = RetryLayer::new(policy.start()).layer(api.clone());
        calls.spawn(async move { client.oneshot(Request::new(String::new())).await.unwrap().status().as_u16() });
    }
    assert_eq!(calls.join_all().await, [200; CALLERS]);
    let counts = limiter.counts();
    assert_eq!(counts.fallback_allowed, CALLERS as u64);
    assert!((1..=100).contains(&counts.fallback_denied), "somebody came back too early: {counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_is_called_again() {
    let made = AtomicUsize::new(0);
    let server = service_fn(|_: Request<&'static str>| {
        let answer = if made.fetch_add(1, Ordering::Relaxed) == 0 { Err("refused") } else { Ok(Response::new(())) };
        async move { answer }
    });
    let policy = RetryPolicy::new(RetryConfig { random_seed: Some(1), ..RetryConfig::default() });
    let began = Instant::now();
    let client = RetryLayer::new(policy.start()).layer(server);
    client.oneshot(Request::new("")).await.unwrap();
    assert!(began.elapsed() <= Duration::from_millis(101), "the first back-off is at most 100 ms and the timer's one");
    assert_eq!(made.load(Ordering::Relaxed), 2);
}
