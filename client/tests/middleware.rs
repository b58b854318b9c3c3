//! The layer in front of an axum service, without sockets between client and gateway.

#![cfg(all(feature = "tower", not(feature = "sim")))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod fake;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::http::{Request, Response, StatusCode};
use fake::FakeStore;
use tallyring_client::middleware::{AddressKey, HeaderKey, KeyExtractor, RateLimitLayer};
use tallyring_client::{Call, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};
use tower::ServiceExt;

fn limiter(store: Store, mode: &str) -> RateLimiter {
    let rule = format!(
        r#"{{"id":"default","key":["client"],"algorithm":"token_bucket","limit":20,"window":"60s","burst":2,"mode":"{mode}"}}"#
    );
    let baked_in = RuleSet::from_json(format!(r#"{{"rule":[{rule}]}}"#).as_bytes()).unwrap();
    RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
}

fn nowhere() -> Store {
    Store::open(StoreConfig { seeds: vec!["127.0.0.1:1".into()], ..StoreConfig::default() })
}

fn peer(request: &Parts) -> Option<IpAddr> {
    request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}

/// A backend that counts its requests, behind the layer.
fn gateway(limiter: RateLimiter) -> (Router, Arc<AtomicU32>) {
    let reached = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&reached);
    let backend = move |body: Bytes| async move {
        counter.fetch_add(1, Ordering::Relaxed);
        format!("{} bytes", body.len())
    };
    let extractor = HeaderKey(HeaderName::from_static("x-api-key")).or(AddressKey::new(peer));
    (Router::new().fallback(backend).layer(RateLimitLayer::new(limiter, extractor)), reached)
}

fn request(key: &str) -> Request<Body> {
    Request::builder().header("x-api-key", key).body(Body::empty()).unwrap()
}

async fn send(gateway: &Router, request: Request<Body>) -> Response<Body> {
    gateway.clone().oneshot(request).await.unwrap()
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn an_allowed_request_reaches_the_backend_and_says_what_is_left() {
    let fake = FakeStore::start(1).await;
    let (gateway, reached) = gateway(limiter(fake.client(), "protect"));
    let response = send(&gateway, request("k")).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header(&response, "ratelimit-policy"), Some("\"default\";q=2;w=6"));
    assert_eq!(header(&response, "ratelimit"), Some("\"default\";r=1;t=2"));
    assert_eq!(header(&response, "x-ratelimit-remaining"), Some("1"));
    assert_eq!(header(&response, "retry-after"), None);
    assert_eq!(reached.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_refused_request_is_a_problem_and_does_not_reach_the_backend() {
    let fake = FakeStore::start(1).await;
    let (gateway, reached) = gateway(limiter(fake.client(), "protect"));
    for _ in 0..2 {
        send(&gateway, request("k")).await;
    }
    let response = send(&gateway, request("k")).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(header(&response, "retry-after"), Some("2"), "1.5 s rounded up");
    assert_eq!(header(&response, "ratelimit"), Some("\"default\";r=0;t=2"));
    assert_eq!(header(&response, "x-ratelimit-limit"), Some("2"));
    assert_eq!(header(&response, "content-type"), Some("application/problem+json"));
    let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!((&problem["status"], &problem["violated-policies"][0]), (&429.into(), &"default".into()));
    assert_eq!(reached.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn clients_have_budgets_of_their_own() {
    let fake = FakeStore::start(1).await;
    let (gateway, _) = gateway(limiter(fake.client(), "protect"));
    for key in ["a", "b"] {
        for status in [200, 200, 429] {
            assert_eq!(send(&gateway, request(key)).await.status(), status, "{key}");
        }
    }
}

#[tokio::test]
async fn a_request_without_a_key_passes_without_headers() {
    let (gateway, reached) = gateway(limiter(nowhere(), "protect"));
    for _ in 0..5 {
        let response = send(&gateway, Request::new(Body::empty())).await;
        assert_eq!((response.status(), header(&response, "ratelimit")), (StatusCode::OK, None));
    }
    assert_eq!(reached.load(Ordering::Relaxed), 5);
}

#[tokio::test]
async fn a_request_with_an_address_counts_by_it() {
    let (gateway, _) = gateway(limiter(nowhere(), "protect"));
    for (address, status) in [("1.1.1.1", 200), ("1.1.1.1", 200), ("1.1.1.1", 429), ("1.1.1.2", 200)] {
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address.parse().unwrap(), 4711)));
        assert_eq!(send(&gateway, request).await.status(), status);
    }
}

#[tokio::test]
async fn a_streamed_body_counts_once() {
    let limiter = limiter(nowhere(), "protect");
    let (gateway, _) = gateway(limiter.clone());
    let (mut sender, body) = channel_body();
    let feeding = tokio::spawn(async move {
        for _ in 0..10 {
            sender.send(Bytes::from_static(b"0123456789")).await;
        }
    });
    let request = Request::builder().header("x-api-key", "k").body(body).unwrap();
    let response = send(&gateway, request).await;
    feeding.await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
    assert_eq!(body, "100 bytes");
    assert_eq!(limiter.counts().fallback_allowed, 1);
}

#[tokio::test]
async fn a_limiter_that_denies_without_the_store_answers_503() {
    let (gateway, reached) = gateway(limiter(nowhere(), "deny"));
    let response = send(&gateway, request("k")).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(header(&response, "retry-after"), Some("1"));
    assert_eq!(header(&response, "content-type"), Some("application/problem+json"));
    assert_eq!(reached.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_closure_is_an_extractor() {
    let limiter = limiter(nowhere(), "protect");
    let by_path = |request: &Parts| Some(tallyring_client::raw_key(request.uri.path()));
    let gateway = Router::new().fallback(|| async { "" }).layer(RateLimitLayer::new(limiter.clone(), by_path));
    send(&gateway, Request::builder().uri("/a").body(Body::empty()).unwrap()).await;
    let subject = Subject { client: Some("/a"), ..Subject::new("GET", "/") };
    let decision = limiter.check(&Call { cost: 0, ..Call::new(subject) }).await;
    assert_eq!(decision.source(), Source::Fallback);
    assert_eq!(decision.checks[0].remaining, 1);
}

/// A body whose chunks are sent one by one while it is read.
fn channel_body() -> (ChunkSender, Body) {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
    (ChunkSender(sender), Body::new(Chunks(receiver)))
}

struct ChunkSender(tokio::sync::mpsc::Sender<Bytes>);

impl ChunkSender {
    async fn send(&mut self, chunk: Bytes) {
        self.0.send(chunk).await.unwrap();
        tokio::task::yield_now().await;
    }
}

struct Chunks(tokio::sync::mpsc::Receiver<Bytes>);

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|chunk| Ok(http_body::Frame::data(chunk))))
    }
}
