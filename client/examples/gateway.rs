//! A gateway with rate limits, to copy from: limits by address before authentication, by client behind it.
//!
//! ```text
//! tallyring serve &
//! cargo run -p tallyring-client --example gateway
//! for i in $(seq 12); do curl -si -H 'X-Api-Key: alice' 127.0.0.1:8080/hello | grep -iE '^(HTTP|ratelimit|retry)'; done
//! ```
//! Ten requests pass, then there is one every three seconds. Start a second gateway with `--listen 127.0.0.1:8081`: the
//! two share Alice's budget. Stop the store: both go on, each with its half of the limit. Start it again: the count is
//! exact again. Push rules to the store (`tallyring rules push FILE`): both follow within a second.
//! `curl 127.0.0.1:8080/counts` says who decided.
//!
//! | flag | default | |
//! |---|---|---|
//! | `--listen` | `127.0.0.1:8080` | where this gateway serves |
//! | `--store` | `127.0.0.1:4170` | a node of the store; the others are learned from it |
//! | `--rules` | those below | a file with the rules that hold until the store says others, as JSON |
//!
//! The store's token, if it asks for one, comes from the environment: `TALLYRING_TOKEN`.

#![allow(clippy::disallowed_types, reason = "a program of its own: its listener is nobody's to simulate")]

use std::borrow::Cow;
use std::error::Error;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Path, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::{Extension, Router, routing::get};
use tallyring_client::middleware::{Identity, RateLimitLayer};
use tallyring_client::{Level, RateLimiter, RateLimiterConfig, RuleSet, Store, StoreConfig};

/// What holds until the store says otherwise.
const BAKED_IN: &str = r#"{"rule": [
    {"id": "per-ip", "group": "ip", "key": ["ip"],
     "algorithm": "token_bucket", "limit": 300, "window": "60s", "burst": 100},
    {"id": "free", "group": "client", "key": ["client"],
     "algorithm": "token_bucket", "limit": 20, "window": "60s", "burst": 10, "soft": "0.8"},
    {"id": "paid", "group": "client", "match": {"tier": "paid"}, "key": ["client"],
     "algorithm": "token_bucket", "limit": 600, "window": "60s", "burst": 100, "soft": "0.8"}
]}"#;

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
    let baked_in = RuleSet::from_json(&args.rules)?;

    // 3. The limiter. Its `check` always answers: from the store, or alone, within this gateway's share of each limit.
    let limiter = RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() });

    // 4. The layers, around every route added before them; the last one that is added comes first. A flood from one
    //    address costs no look-up of keys, and whoever invents keys has no budget to gain by it.
    let app = Router::new()
        .route("/{*path}", get(backend))
        .layer(RateLimitLayer::new(limiter.clone(), account).without_groups(["ip"]))
        .layer(from_fn(authenticate))
        .layer(RateLimitLayer::new(limiter.clone(), peer).groups(["ip"]))
        .route("/counts", get(move || async move { format!("{:#?}\n", limiter.counts()) }));

    let listener = tokio::net::TcpListener::bind(&args.listen).await.map_err(|e| format!("{}: {e}", args.listen))?;
    println!("serving on {}, counting in {}", listener.local_addr()?, args.store);
    // `with_connect_info` puts the peer's address where `peer` looks for it.
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(stopped()).await?;
    Ok(())
}

/// What the gateway protects. Yours proxies to somewhere, and does something cheaper when a budget is nearly used up.
async fn backend(Path(path): Path<String>, Extension(level): Extension<Level>) -> String {
    match level {
        Level::Soft => format!("you asked for /{path}; slow down\n"),
        Level::Ok | Level::Denied => format!("you asked for /{path}\n"),
    }
}

/// Whoever has a key, as your authentication finds it.
#[derive(Clone)]
struct Account {
    name: String,
    tier: &'static str,
}

/// Lets whoever has a key pass. Yours asks whether it is a good one. An odd key is refused here: behind it would be nobody, and
/// no rule that counts clients is for nobody.
async fn authenticate(mut request: Request, next: Next) -> Result<Response, (StatusCode, &'static str)> {
    let name = request.headers().get("x-api-key").and_then(|key| key.to_str().ok()).filter(|key| !key.is_empty());
    let name =
        name.ok_or((StatusCode::UNAUTHORIZED, "an X-Api-Key is needed, of visible ASCII characters\n"))?.to_owned();
    let tier = if name.starts_with("paid-") { "paid" } else { "free" };
    request.extensions_mut().insert(Account { name, tier });
    Ok(next.run(request).await)
}

/// Who it is before authentication: the address at the other end of the socket. Behind proxies, name them in the rules
/// (`trusted_proxies`), and `X-Forwarded-For` is followed.
fn peer(request: &Parts) -> Identity<'_> {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    Identity { peer, ..Identity::default() }
}

/// Who it is behind authentication.
fn account(request: &Parts) -> Identity<'_> {
    let account = request.extensions.get::<Account>();
    let client = account.map(|account| Cow::from(&account.name));
    let tier = account.map(|account| Cow::from(account.tier));
    Identity { client, tier, ..peer(request) }
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
    rules: Vec<u8>,
}

impl Args {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Args, Box<dyn Error>> {
        let rules = BAKED_IN.into();
        let mut parsed = Args { listen: "127.0.0.1:8080".into(), store: "127.0.0.1:4170".into(), rules };
        while let Some(flag) = args.next() {
            let value = args.next().ok_or_else(|| format!("{flag}: a value is missing"))?;
            match flag.as_str() {
                "--listen" => parsed.listen = value,
                "--store" => parsed.store = value,
                "--rules" => parsed.rules = std::fs::read(&value).map_err(|error| format!("{value}: {error}"))?,
                _ => return Err(format!("{flag}: no such flag").into()),
            }
        }
        Ok(parsed)
    }
}
