//! Rules that limit concurrency: a slot is held until the response has ended.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Response;
use http_body_util::BodyExt;
use tallyring_client::Decision;
use tallyring_client::middleware::RateLimitLayer;
use tokio::sync::mpsc;

use crate::fake::FakeStore;
use crate::gateway::{Gateway, limiter, patient, value, whose};

const TWO_SLOTS: &str = r#"{"id":"slots","key":["client"],"algorithm":"concurrency","limit":2,"window":"60s"}"#;

/// A gateway with two slots a client, and the store that gives them.
async fn slots(app: Router) -> (Gateway, FakeStore) {
    let fake = FakeStore::start(1).await;
    let app = app.layer(RateLimitLayer::new(limiter(&patient(&fake), &[TWO_SLOTS]), whose));
    (Gateway::of(app), fake)
}

/// Waits until so many units are held: a release travels in the background.
async fn check_held(fake: &FakeStore, expect: u64) {
    let wait = async {
        while fake.held() != expect {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), wait).await;
    assert!(waited.is_ok(), "{} units are held, not {expect}", fake.held());
}

/// A backend whose responses stream what is sent to the other end.
fn streaming() -> (Router, mpsc::UnboundedReceiver<mpsc::Sender<Bytes>>) {
    let (started, streams) = mpsc::unbounded_channel();
    let backend = move || {
        let (sender, body) = channel_body();
        started.send(sender).unwrap();
        async move { Response::new(body) }
    };
    (Router::new().fallback(backend), streams)
}

#[tokio::test]
async fn slots_are_held_until_the_body_has_ended() {
    let (app, mut streams) = streaming();
    let (gateway, fake) = slots(app).await;
    let (first, second) = (gateway.get("k").await, gateway.get("k").await);
    assert_eq!(value(&second, "ratelimit-policy"), Some(r#""slots";q=2;qu="concurrent-requests""#));
    assert_eq!(gateway.get("k").await.status().as_u16(), 429);
    assert_eq!(fake.held(), 2);

    let stream = streams.recv().await.unwrap();
    stream.send(Bytes::from_static(b"chunk")).await.unwrap();
    let mut body = first.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "chunk");
    check_held(&fake, 2).await;
    drop(stream);
    assert!(body.frame().await.is_none());
    check_held(&fake, 1).await;
    drop(second);
    check_held(&fake, 0).await;
    assert_eq!(gateway.get("k").await.status().as_u16(), 200);
}

#[tokio::test]
async fn a_body_that_is_dropped_half_way_gives_its_slot_back() {
    let (app, mut streams) = streaming();
    let (gateway, fake) = slots(app).await;
    let response = gateway.get("k").await;
    let _stream = streams.recv().await.unwrap();
    check_held(&fake, 1).await;
    drop(response);
    check_held(&fake, 0).await;
}

#[tokio::test]
async fn a_request_that_is_cancelled_gives_its_slot_back() {
    let (gateway, fake) = slots(Router::new().fallback(std::future::pending::<()>)).await;
    let client = gateway.clone();
    let asking = tokio::spawn(async move { client.get("k").await.status() });
    check_held(&fake, 1).await;
    asking.abort();
    check_held(&fake, 0).await;
}

#[tokio::test]
async fn an_application_may_hold_on_longer_than_the_response() {
    let (keep, mut kept) = mpsc::unbounded_channel();
    let upgrading = move |request: Request| {
        keep.send(request.extensions().get::<Decision>().unwrap().held().clone()).unwrap();
        async { "upgraded" }
    };
    let (gateway, fake) = slots(Router::new().fallback(upgrading)).await;
    let response = gateway.get("k").await;
    axum::body::to_bytes(response.into_body(), 100).await.unwrap();
    let held = kept.recv().await.unwrap();
    assert!(!held.is_empty());
    check_held(&fake, 1).await;
    drop(held);
    check_held(&fake, 0).await;
}

/// A body whose chunks are sent one by one while it is read.
pub fn channel_body() -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, Body::new(Chunks(receiver)))
}

struct Chunks(mpsc::Receiver<Bytes>);

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|chunk| Ok(http_body::Frame::data(chunk))))
    }
}
