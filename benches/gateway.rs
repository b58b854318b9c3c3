//! A gateway that decides without asking anybody, out of its memory, its grants or its own share, and what it is asked.

#[path = "../client/tests/fake/mod.rs"]
mod fake;

use std::hint::black_box;

use tallyring_client::{Call, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};
use tokio::runtime::{Builder, Runtime};

use self::fake::FakeStore;

/// Clients that take turns: their state is more than the nearest cache holds.
const CLIENTS: usize = 10_000;

/// Clients of gateways that have a store. Each of them asks it once a second, which may not weigh.
const CLIENTS_OF_STORE: usize = 64;

/// A gateway, one rule, and the clients that it is asked about in turn.
#[derive(Debug)]
pub struct Gateway {
    runtime: Runtime,
    limiter: RateLimiter,
    rules: RuleSet,
    clients: Vec<String>,
    source: Source,
}

impl Gateway {
    /// One whose clients have all been refused by the store a moment ago.
    pub fn refusing() -> Gateway {
        Gateway::with_store(r#""algorithm":"token_bucket","limit":1,"window":"1h""#, Source::DenyCache)
    }

    /// One that has taken units ahead for all of its clients.
    pub fn granting() -> Gateway {
        let rule = r#""algorithm":"token_bucket","limit":1000000000,"window":"1h","grant":10000000"#;
        Gateway::with_store(rule, Source::Grant)
    }

    /// One whose store is gone, with budgets that are used up sooner or later.
    pub fn alone() -> Gateway {
        Gateway::without_store(r#""algorithm":"token_bucket","limit":100,"window":"60s""#, Source::Fallback)
    }

    /// One whose store is gone, and whose rule denies then.
    pub fn denying() -> Gateway {
        let rule = r#""algorithm":"token_bucket","limit":100,"window":"60s","mode":"deny""#;
        Gateway::without_store(rule, Source::Mode)
    }

    fn with_store(rule: &str, source: Source) -> Gateway {
        let runtime = runtime();
        let store = runtime.block_on(FakeStore::start(1));
        let store = runtime.block_on(async { store.client() });
        Gateway::new(runtime, store, rule, source, CLIENTS_OF_STORE)
    }

    fn without_store(rule: &str, source: Source) -> Gateway {
        let runtime = runtime();
        let seeds = vec!["127.0.0.1:1".to_owned()];
        let store = runtime.block_on(async { Store::open(StoreConfig { seeds, ..StoreConfig::default() }) });
        Gateway::new(runtime, store, rule, source, CLIENTS)
    }

    fn new(runtime: Runtime, store: Store, rule: &str, source: Source, clients: usize) -> Gateway {
        let json = format!(r#"{{"rule":[{{"id":"per-client","key":["client"],{rule}}}]}}"#);
        let rules = RuleSet::from_json(json.as_bytes()).expect("a rule that is right");
        let config = RateLimiterConfig { baked_in: rules.clone(), ..RateLimiterConfig::default() };
        let limiter = runtime.block_on(async { RateLimiter::new(store, config) });
        let clients = (0..clients).map(|n| format!("acct_{n:06}")).collect();
        let gateway = Gateway { runtime, limiter, rules, clients, source };
        gateway.warm_up();
        gateway
    }

    /// Asks about every client until all are decided here.
    fn warm_up(&self) {
        let decided = async |client| self.limiter.check(&call(client)).await.source() == self.source;
        self.runtime.block_on(async {
            for client in &self.clients {
                while !decided(client).await {}
            }
        });
    }

    /// Decides so many calls, in which the clients take turns.
    pub fn check(&self, calls: usize) {
        self.runtime.block_on(async {
            for client in self.clients.iter().cycle().take(calls) {
                black_box(self.limiter.check(black_box(&call(client))).await);
            }
        });
    }

    /// Finds the rules of the same calls: what [`check`](Gateway::check) takes more is the decision.
    pub fn resolve(&self, calls: usize) {
        for client in self.clients.iter().cycle().take(calls) {
            black_box(self.rules.resolve(black_box(&call(client).subject)));
        }
    }
}

fn call(client: &str) -> Call<'_> {
    Call::new(Subject { client: Some(client), ..Subject::new("POST", "/v1/charges") })
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime takes a few files")
}
