//! What the application learns of the decision.

use std::time::Duration;

use axum::http::Extensions;
use axum::http::request::Parts;
use axum::{Extension, Router};
use tallyring_client::middleware::{Identity, RateLimitLayer};
use tallyring_client::{Decision, Level, RateLimiter};
use tokio::time::Instant;

use crate::gateway::{Gateway, limiter, nowhere, whose};

type Whose = fn(&Parts) -> Identity<'_>;

/// Answers with what `read` finds in the request's extensions.
fn reading(layer: RateLimitLayer<Whose>, read: fn(&Extensions) -> String) -> Gateway {
    let backend = move |request: axum::extract::Request| async move { read(request.extensions()) };
    let app = Router::new().fallback(backend).layer(layer);
    Gateway::of(app)
}

async fn text(gateway: &Gateway, key: &str) -> String {
    let body = axum::body::to_bytes(gateway.get(key).await.into_body(), 100).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

fn layer(limiter: RateLimiter) -> RateLimitLayer<Whose> {
    RateLimitLayer::new(limiter, whose)
}

#[tokio::test(start_paused = true)]
async fn a_soft_decision_reaches_the_application() {
    let soft = r#"{"id":"p","key":["client"],"algorithm":"token_bucket","limit":4,"window":"60s","soft":"0.5"}"#;
    let read = |extensions: &Extensions| format!("{:?}", extensions.get::<Level>().unwrap());
    let gateway = reading(layer(limiter(&nowhere(), &[soft])), read);
    for expect in ["Ok", "Soft", "Soft", "Soft"] {
        assert_eq!(text(&gateway, "k").await, expect);
    }
    assert_eq!(gateway.get("k").await.status().as_u16(), 429);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_no_rule_is_for_is_ok() {
    let gateway = reading(layer(limiter(&nowhere(), &[])), |extensions| format!("{:?}", extensions.get::<Level>()));
    assert_eq!(text(&gateway, "k").await, "Some(Ok)");
}

#[tokio::test(start_paused = true)]
async fn the_extension_can_be_extracted() {
    let app = Router::new().fallback(async |Extension(level): Extension<Level>| format!("{level:?}"));
    let app = app.layer(layer(limiter(&nowhere(), &[])));
    assert_eq!(text(&Gateway::of(app), "k").await, "Ok");
}

/// One a second, three at once.
const LEAKY: &str = r#"{"id":"p","key":["client"],"algorithm":"leaky_bucket","limit":60,"window":"60s","burst":3}"#;

#[tokio::test(start_paused = true)]
async fn a_leaky_bucket_tells_how_long_to_hold_a_request() {
    let read = |extensions: &Extensions| extensions.get::<Decision>().unwrap().delay().as_secs().to_string();
    let gateway = reading(layer(limiter(&nowhere(), &[LEAKY])), read);
    for expect in ["0", "1", "2"] {
        assert_eq!(text(&gateway, "k").await, expect);
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_holds_lets_requests_out_at_the_rate_of_the_bucket() {
    let gateway = reading(layer(limiter(&nowhere(), &[LEAKY])).holding(), |_| String::new());
    let began = Instant::now();
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let gateway = gateway.clone();
        sending.spawn(async move { (gateway.get("k").await.status().as_u16(), began.elapsed()) });
    }
    let mut came = sending.join_all().await;
    came.sort_by_key(|(_, after)| *after);
    let expect = [(200, 0), (429, 0), (200, 1), (200, 2)];
    let seconds = |after: Duration| (after + Duration::from_millis(100)).as_secs();
    came[..2].sort_unstable();
    assert_eq!(came.iter().map(|(status, after)| (*status, seconds(*after))).collect::<Vec<_>>(), expect);
}
