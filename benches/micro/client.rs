//! What a gateway pays for a decision that asks nobody, from the call to its answer: the rules resolved, the key built
//! and hashed, the clock read. One rule, one thread.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a benchmark measures time and may panic")]

#[path = "../../client/tests/fake/mod.rs"]
mod fake;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use fake::FakeStore;
use tallyring_client::{Call, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};
use tokio::runtime::{Builder, Runtime};

/// Clients that take turns: more than the nearest cache holds.
const CLIENTS: usize = 10_000;

/// Clients that are all denied. Each of them asks the store once a second, which may not weigh.
const DENIED_CLIENTS: usize = 64;

struct Gateway {
    runtime: Runtime,
    limiter: RateLimiter,
    clients: Vec<String>,
}

impl Gateway {
    fn new(runtime: Runtime, store: Store, rule: &str, clients: usize) -> Gateway {
        let _inside = runtime.enter();
        let baked_in = RuleSet::from_json(format!(r#"{{"rule":[{rule}]}}"#).as_bytes()).unwrap();
        let limiter = RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() });
        let clients = (0..clients).map(|n| format!("acct_{n:06}")).collect();
        drop(_inside);
        Gateway { runtime, limiter, clients }
    }

    /// A gateway whose store is gone.
    fn alone(rule: &str) -> Gateway {
        let runtime = runtime();
        let seeds = vec!["127.0.0.1:1".to_owned()];
        let store = runtime.block_on(async { Store::open(StoreConfig { seeds, ..StoreConfig::default() }) });
        Gateway::new(runtime, store, rule, CLIENTS)
    }

    /// The time of so many calls, in which the clients take turns.
    fn time(&self, calls: u64, source: Source) -> Duration {
        self.runtime.block_on(async {
            let start = Instant::now();
            for (_, client) in (0..calls).zip(self.clients.iter().cycle()) {
                let subject = Subject { client: Some(client), ..Subject::new("POST", "/v1/charges") };
                let decision = self.limiter.check(black_box(&Call::new(subject))).await;
                debug_assert_eq!(decision.source(), source);
                black_box(decision);
            }
            start.elapsed()
        })
    }

    fn measure(&self, c: &mut Criterion, name: &str, source: Source) {
        self.runtime.block_on(async {
            let subject = Subject { client: Some("acct_000000"), ..Subject::new("POST", "/v1/charges") };
            while self.limiter.check(&Call::new(subject)).await.source() != source {}
        });
        c.bench_function(name, |b| b.iter_custom(|calls| self.time(calls, source)));
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn local(c: &mut Criterion) {
    let bucket = r#""id":"r","key":["client"],"algorithm":"token_bucket","limit":100,"window":"60s""#;
    let runtime = runtime();
    let fake = runtime.block_on(FakeStore::start(1));
    let store = runtime.block_on(async { fake.client() });
    let never = Gateway::new(
        runtime,
        store,
        r#"{"id":"r","key":["client"],"algorithm":"token_bucket","limit":1,"window":"1h"}"#,
        DENIED_CLIENTS,
    );
    never.measure(c, "client/deny cache", Source::DenyCache);
    Gateway::alone(&format!("{{{bucket}}}")).measure(c, "client/fallback", Source::Fallback);
    Gateway::alone(&format!(r#"{{{bucket},"mode":"deny"}}"#)).measure(c, "client/mode", Source::Mode);
    Gateway::alone(r#"{"id":"r","action":"block"}"#).measure(c, "client/block", Source::Rule);
}

criterion_group!(client, local);
criterion_main!(client);
