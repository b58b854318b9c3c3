//! A gateway with a rate limit, to copy from.
//!
//! ```text
//! tallyring serve &
//! cargo run -p tallyring-client --example gateway -- --limit 20 --window-s 60 --burst 10
//! for i in $(seq 12); do curl -si -H 'X-Api-Key: alice' 127.0.0.1:8080/hello | grep -iE '^(HTTP|ratelimit|retry)'; done
//! ```
//! Ten requests pass, then there is one every three seconds. Start a second gateway with `--listen 127.0.0.1:8081`: the
//! two share Alice's budget. Stop the store: both go on, each with its half of the limit. Start it again: the count is
//! exact again. `curl 127.0.0.1:8080/counts` says who decided.
//!
//! | flag | default | |
//! |---|---|---|
//! | `--listen` | `127.0.0.1:8080` | where this gateway serves |
//! | `--store` | `127.0.0.1:4170` | a node of the store; the others are learned from it |
//! | `--limit` `--window-s` `--burst` | 20, 60, 10 | a token bucket: so many a window, so many at once |
//! | `--trust` | nobody | a proxy's address or range, whose `X-Forwarded-For` is believed |
//!
//! The store's token, if it asks for one, comes from the environment: `TALLYRING_TOKEN`.

#![allow(clippy::disallowed_types, reason = "a program of its own: its listener is nobody's to simulate")]

use std::error::Error;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Path};
use axum::http::HeaderName;
use axum::http::request::Parts;
use axum::{Router, routing::get};
use tallyring_client::middleware::{AddressKey, HeaderKey, KeyExtractor, Network, RateLimitLayer};
use tallyring_client::{RateLimiter, RateLimiterConfig, RuleSet, Store, StoreConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse(std::env::args().skip(1))?;

    // 1. The store. This returns at once, also while the store is down: a gateway must start without it.
    let store = Store::open(StoreConfig {
        seeds: vec![args.store.clone()],
        token: std::env::var("TALLYRING_TOKEN").unwrap_or_default(),
        name: "example gateway".into(),
        ..StoreConfig::default()
    });

    // 2. The rules that hold until the store says others. They are checked here, once, and so are those of the store.
    let Args { limit, window_s, burst, .. } = args;
    let rule = format!(
        r#"{{"id":"per-client","key":["client"],"algorithm":"token_bucket","limit":{limit},"window":"{window_s}s","burst":{burst}}}"#
    );
    let baked_in = RuleSet::from_json(format!(r#"{{"rule":[{rule}]}}"#).as_bytes())?;

    // 3. The limiter. Its `check` always answers: from the store, or alone, within this gateway's share of the limit.
    let limiter = RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() });

    // 4. Whose budget: the API key's, else the address's. In production put a header like this behind authentication,
    //    or anybody can invent a fresh budget by inventing a key.
    let whose = HeaderKey(HeaderName::from_static("x-api-key")).or(AddressKey::new(peer).trusting(args.trusted));

    // 5. The layer, around every route added before it.
    let app = Router::new()
        .route("/{*path}", get(backend))
        .layer(RateLimitLayer::new(limiter.clone(), whose))
        .route("/counts", get(move || async move { format!("{:#?}\n", limiter.counts()) }));

    let listener = tokio::net::TcpListener::bind(&args.listen).await.map_err(|e| format!("{}: {e}", args.listen))?;
    println!("serving on {}, counting in {}", listener.local_addr()?, args.store);
    // `with_connect_info` puts the peer's address where `peer` looks for it.
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(stopped()).await?;
    Ok(())
}

/// What the gateway protects. Yours proxies to somewhere.
async fn backend(Path(path): Path<String>) -> String {
    format!("you asked for /{path}\n")
}

/// The address at the other end of the socket.
fn peer(request: &Parts) -> Option<IpAddr> {
    request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}

/// Ctrl-C or SIGTERM.
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).expect("a process may listen for its signals");
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

struct Args {
    listen: String,
    store: String,
    limit: u64,
    window_s: u64,
    burst: u64,
    trusted: Vec<Network>,
}

impl Args {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Args, Box<dyn Error>> {
        let mut parsed = Args {
            listen: "127.0.0.1:8080".into(),
            store: "127.0.0.1:4170".into(),
            limit: 20,
            window_s: 60,
            burst: 10,
            trusted: Vec::new(),
        };
        while let Some(flag) = args.next() {
            let value = args.next().ok_or_else(|| format!("{flag}: a value is missing"))?;
            match flag.as_str() {
                "--listen" => parsed.listen = value,
                "--store" => parsed.store = value,
                "--limit" => parsed.limit = value.parse()?,
                "--window-s" => parsed.window_s = value.parse()?,
                "--burst" => parsed.burst = value.parse()?,
                "--trust" => parsed.trusted.push(value.parse()?),
                _ => return Err(format!("{flag}: no such flag").into()),
            }
        }
        Ok(parsed)
    }
}
