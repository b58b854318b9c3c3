//! Limiters for tests, and the calls that they are asked.

#![allow(dead_code, unreachable_pub, reason = "every test file is a crate that uses a part of it")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

use std::time::{Duration, Instant};

use tallyring_client::{Call, Decision, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};

/// A rule as JSON, counted by one part of the key.
pub fn rule(id: &str, key: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","key":["{key}"],{rest}}}"#)
}

/// A document of rules, as JSON.
pub fn document(rules: &[String]) -> String {
    format!(r#"{{"rule":[{}]}}"#, rules.join(","))
}

/// Rules that make sense.
pub fn rules(rules: &[String]) -> RuleSet {
    RuleSet::from_json(document(rules).as_bytes()).unwrap()
}

/// A limiter with these rules, until its store says others.
pub fn limiter(store: &Store, baked_in: &[String]) -> RateLimiter {
    RateLimiter::new(store.clone(), RateLimiterConfig { baked_in: rules(baked_in), ..RateLimiterConfig::default() })
}

/// A counter an hour for each value of one part of the key.
pub fn hourly(id: &str, key: &str, limit: u64) -> String {
    in_group(id, key, id, &format!(r#""algorithm":"fixed_window","limit":{limit},"window":"1h""#))
}

/// A rule of a group.
pub fn in_group(id: &str, key: &str, group: &str, rest: &str) -> String {
    rule(id, key, &format!(r#""group":"{group}",{rest}"#))
}

/// A store that is not there.
pub fn nowhere() -> Store {
    Store::open(StoreConfig { seeds: vec!["127.0.0.1:1".into()], ..StoreConfig::default() })
}

/// Who a client is: the tenant, if there is one, behind a slash.
pub fn subject(client: &str) -> Subject<'_> {
    let (client, tenant) = client.split_once('/').map_or((client, None), |(client, tenant)| (client, Some(tenant)));
    Subject { client: Some(client), tenant, ..Subject::new("GET", "/") }
}

pub async fn check(limiter: &RateLimiter, client: &str) -> Decision {
    ask(limiter, client, 1).await
}

pub async fn ask(limiter: &RateLimiter, client: &str, cost: u64) -> Decision {
    limiter.check(&Call { cost, ..Call::new(subject(client)) }).await
}

/// Looks until somebody in particular answers.
pub async fn decide(limiter: &RateLimiter, source: Source) -> Decision {
    let start = Instant::now();
    loop {
        let decision = ask(limiter, "probe", 0).await;
        if decision.source() == source {
            return decision;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "never decided by {source:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until `condition`, at most ten seconds.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
