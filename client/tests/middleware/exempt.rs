//! What is counted once, and what is not counted at all.

use axum::body::{Body, Bytes};
use axum::http::{Method, Request};
use tallyring_client::middleware::RateLimitLayer;

use crate::gateway::{Gateway, TWO_AT_ONCE, limiter, lines, nowhere, whose, with};

fn preflight(headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = with(headers);
    *request.method_mut() = Method::OPTIONS;
    request
}

const ASKS: (&str, &str) = ("access-control-request-method", "PUT");

#[tokio::test(start_paused = true)]
async fn preflights_pass_uncounted_and_without_headers() {
    let limiter = limiter(&nowhere(), &[TWO_AT_ONCE]);
    let gateway = Gateway::new(limiter.clone());
    for _ in 0..5 {
        let response = gateway.send(preflight(&[("x-api-key", "k"), ASKS])).await;
        assert_eq!((response.status().as_u16(), lines(&response)), (200, vec![]));
    }
    assert_eq!(limiter.counts().fallback_allowed, 0);
}

#[tokio::test(start_paused = true)]
async fn other_options_requests_are_counted() {
    let gateway = Gateway::new(limiter(&nowhere(), &[TWO_AT_ONCE]));
    for status in [200, 200, 429] {
        assert_eq!(gateway.send(preflight(&[("x-api-key", "k")])).await.status().as_u16(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn preflights_are_counted_where_that_is_asked_for() {
    let limiter = limiter(&nowhere(), &[TWO_AT_ONCE]);
    let gateway = Gateway::behind(|app| app.layer(RateLimitLayer::new(limiter, whose).counting_preflights()));
    for status in [200, 200, 429] {
        assert_eq!(gateway.send(preflight(&[("x-api-key", "k"), ASKS])).await.status().as_u16(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_streamed_request_counts_once() {
    let limiter = limiter(&nowhere(), &[TWO_AT_ONCE]);
    let gateway = Gateway::new(limiter.clone());
    let (sender, body) = crate::holding::channel_body();
    let feeding = tokio::spawn(async move {
        for _ in 0..10 {
            sender.send(Bytes::from_static(b"0123456789")).await.unwrap();
        }
    });
    let request = Request::builder().header("x-api-key", "k").body(body).unwrap();
    let response = gateway.send(request).await;
    feeding.await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
    assert_eq!(body, "100 bytes");
    assert_eq!(limiter.counts().fallback_allowed, 1);
}
