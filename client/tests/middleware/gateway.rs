//! A gateway to ask: a backend that counts its requests, behind the layer.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::request::{Builder, Parts};
use axum::http::{Request, Response};
use tallyring_client::middleware::{Identity, RateLimitLayer, header};
use tallyring_client::{RateLimiter, RateLimiterConfig, RuleSet, Store, StoreConfig};
use tower::ServiceExt;

use crate::fake::FakeStore;

/// Two units a client at once.
pub const TWO_AT_ONCE: &str =
    r#"{"id":"p","key":["client"],"algorithm":"token_bucket","limit":20,"window":"60s","burst":2}"#;

/// A limiter with these rules.
pub fn limiter(store: &Store, rules: &[&str]) -> RateLimiter {
    limiter_of(store, &format!(r#"{{"rule":[{}]}}"#, rules.join(",")))
}

/// A limiter with this document.
pub fn limiter_of(store: &Store, document: &str) -> RateLimiter {
    let baked_in = RuleSet::from_json(document.as_bytes()).unwrap();
    RateLimiter::new(store.clone(), RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
}

/// A client of `fake` that a busy machine does not drive into its fallback.
pub fn patient(fake: &FakeStore) -> Store {
    fake.client_with(|config| config.deadline = Duration::from_secs(10))
}

/// A store that is not there: what the fallback of a single gateway decides.
pub fn nowhere() -> Store {
    Store::open(StoreConfig { seeds: vec!["127.0.0.1:1".into()], ..StoreConfig::default() })
}

/// Everything that a header can say.
pub fn whose(request: &Parts) -> Identity<'_> {
    Identity {
        client: header(request, "x-api-key"),
        tenant: header(request, "x-tenant"),
        tier: header(request, "x-tier"),
        priority: header(request, "x-priority"),
        cost: header(request, "x-cost").map_or(1, |cost| cost.parse().unwrap()),
        peer: peer(request),
        ..Identity::default()
    }
}

pub fn peer(request: &Parts) -> Option<IpAddr> {
    request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}

/// A backend behind one layer.
#[derive(Clone)]
pub struct Gateway {
    app: Router,
    reached: Arc<AtomicU32>,
}

impl Gateway {
    /// A backend that says how long the request's body was, behind [`whose`]'s layer.
    pub fn new(limiter: RateLimiter) -> Gateway {
        Gateway::behind(|app| app.layer(RateLimitLayer::new(limiter, whose)))
    }

    /// The same backend behind other layers.
    pub fn behind(layers: impl FnOnce(Router) -> Router) -> Gateway {
        let reached = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&reached);
        let backend = move |body: Bytes| async move {
            counter.fetch_add(1, Ordering::Relaxed);
            format!("{} bytes", body.len())
        };
        Gateway { app: layers(Router::new().fallback(backend)), reached }
    }

    /// An application of its own.
    pub fn of(app: Router) -> Gateway {
        Gateway { app, reached: Arc::default() }
    }

    pub async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.app.clone().oneshot(request).await.unwrap()
    }

    pub async fn get(&self, key: &str) -> Response<Body> {
        self.send(with(&[("x-api-key", key)])).await
    }

    /// Requests that reached the backend.
    pub fn reached(&self) -> u32 {
        self.reached.load(Ordering::Relaxed)
    }
}

/// A request with these headers.
pub fn with(headers: &[(&str, &str)]) -> Request<Body> {
    let request: Builder =
        headers.iter().fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
    request.body(Body::empty()).unwrap()
}

/// The same request, from this peer.
pub fn from(peer: &str, mut request: Request<Body>) -> Request<Body> {
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 4711)));
    request
}

pub fn value<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

/// The headers that a limiter writes, a line each, sorted.
pub fn lines(response: &Response<Body>) -> Vec<String> {
    let is_ours = |name: &str| name.contains("ratelimit") || name == "retry-after";
    let ours = response.headers().iter().filter(|(name, _)| is_ours(name.as_str()));
    let mut lines: Vec<String> = ours.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    lines.sort();
    lines
}

/// The body, as the JSON that it has to be.
pub async fn problem(response: Response<Body>) -> serde_json::Value {
    assert_eq!(value(&response, "content-type"), Some("application/problem+json"));
    let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}
