//! A node, and gateways in front of it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::request::Parts;
use tallyring::node::Node;
use tallyring::sys::clock::Clock;
use tallyring_client::middleware::{Identity, RateLimitLayer, header};
use tallyring_client::{RateLimiter, RateLimiterConfig, RuleSet, Store, StoreConfig};
use tallyring_tests::local::{any_port, config};

/// The first microsecond of an hour: 2020-09-13 13:00 UTC.
pub const HOUR_US: u64 = 1_600_002_000_000_000;

/// A node whose time a test sets, and the rules that its gateways have.
pub struct System {
    node: Node,
    clock: &'static AtomicU64,
    rules: String,
}

fn whose(request: &Parts) -> Identity<'_> {
    Identity { client: header(request, "x-api-key"), tenant: header(request, "x-tenant"), ..Identity::default() }
}

impl System {
    /// A node at the beginning of an hour.
    pub async fn start(rules: &[&str]) -> System {
        let clock: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(HOUR_US)));
        let node = Node::start_on(Clock::set_by_hand(clock), config(2)).await.unwrap();
        let rules = format!(r#"{{"defaults":{{"retry_jitter":"0"}},"rule":[{}]}}"#, rules.join(","));
        System { node, clock, rules }
    }

    /// Moves time to so many microseconds after the hour.
    pub fn set(&self, us: u64) {
        self.clock.store(HOUR_US + us, Ordering::Release);
    }

    /// A limiter with a memory of its own.
    pub fn limiter(&self) -> RateLimiter {
        let deadline = Duration::from_secs(10); // a busy machine must not turn an exact count into a fallback
        let seeds = vec![self.node.native_addr().to_string()];
        let store = Store::open(StoreConfig { seeds, deadline, ..StoreConfig::default() });
        let baked_in = RuleSet::from_json(self.rules.as_bytes()).unwrap();
        RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
    }

    /// Serves `app` behind a gateway of its own.
    pub async fn serve(&self, limiter: RateLimiter, app: Router) -> SocketAddr {
        let app = app.layer(RateLimitLayer::new(limiter, whose));
        let listener = tokio::net::TcpListener::bind(any_port()).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        address
    }

    /// Serves a backend that says `ok`, behind a gateway that remembers no refusal of another.
    pub async fn gateway(&self) -> SocketAddr {
        self.serve(self.limiter(), Router::new().fallback(|| async { "ok" })).await
    }
}
