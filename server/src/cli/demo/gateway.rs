//! The gateway of the demo, with a toy backend: what somebody would write who links the client crate.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Path};
use axum::http::request::Parts;
use axum::routing::get;
use tallyring_client::middleware::{Identity, RateLimitLayer, header};
use tallyring_client::{RateLimiter, RateLimiterConfig, Store, StoreConfig};
use tallyring_protocol::rules::parse;
use tokio::signal::unix::Signal;

use super::RULES;
use crate::sys::net::Bound;

/// How long open requests may take to end when the demo is stopped.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// A limiter that enforces the sample rules from its first request on, and then whatever the store says.
pub(super) fn limiter(nodes: impl Iterator<Item = SocketAddr>) -> RateLimiter {
    let seeds = nodes.map(|node| node.to_string()).collect();
    let store = Store::open(StoreConfig { seeds, name: "demo gateway".to_owned(), ..StoreConfig::default() });
    let baked_in = parse(RULES).expect("the demo's rules make sense").rules;
    RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
}

/// Serves until a signal comes, and a little longer for requests that are under way.
pub(super) async fn serve(gateway: Bound, limiter: RateLimiter, signals: (Signal, Signal)) -> std::io::Result<()> {
    let (stopping, stopped) = tokio::sync::watch::channel(());
    let service = app(limiter).into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(gateway.open()?, service).with_graceful_shutdown(async move {
        wait_for(signals).await;
        drop(stopping);
    });
    tokio::select! {
        biased;
        served = serving.into_future() => served,
        () = drain_time(stopped) => Ok(()),
    }
}

async fn wait_for((mut terminate, mut interrupt): (Signal, Signal)) {
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Ends some time after the other end of `stopped` is gone.
async fn drain_time(mut stopped: tokio::sync::watch::Receiver<()>) {
    while stopped.changed().await.is_ok() {}
    tokio::time::sleep(DRAIN_MAX).await;
}

fn app(limiter: RateLimiter) -> Router {
    Router::new()
        .route("/", get(|| async { "hello from behind the limiter\n" }))
        .route("/{*path}", get(|Path(path): Path<String>| async move { format!("you asked for /{path}\n") }))
        .layer(RateLimitLayer::new(limiter.clone(), whose))
        .route("/counts", get(move || async move { format!("{:#?}\n", limiter.counts()) }))
}

fn whose(request: &Parts) -> Identity<'_> {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    Identity { client: header(request, "x-api-key"), peer, ..Identity::default() }
}
