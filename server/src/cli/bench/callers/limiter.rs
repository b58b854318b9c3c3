//! A limiter with rules, as a gateway has one: route, key and winners are found for every call, and what was denied a
//! moment ago is denied without asking.

use serde_json::{Value, json};
use tallyring_client::{Call, Limit, RateLimiter, RateLimiterConfig, RuleError, RuleSet, Source, Store, Subject};

use super::Askable;
use crate::cli::bench::dialect::Answer;
use crate::cli::bench::numbers;

const SECOND_US: u64 = 1_000_000;

/// The route that everybody asks for.
const ROUTE: &str = "/v1/charges";

/// What `limiter://` asks.
#[derive(Clone, Debug)]
pub(in crate::cli::bench) struct Limiter(RateLimiter);

impl Limiter {
    /// Under rules of its own: those of the store are somebody's.
    pub(in crate::cli::bench) fn new(store: Store, limit: &Limit) -> Result<Limiter, RuleError> {
        let baked_in = RuleSet::from_json(document(limit).to_string().as_bytes())?;
        let config = RateLimiterConfig { baked_in, follows_store: false, ..RateLimiterConfig::default() };
        Ok(Limiter(RateLimiter::new(store, config)))
    }
}

/// What a small API has: a limit a client, another for one tier, and a route without any.
fn document(limit: &Limit) -> Value {
    let per_client = numbers_of(limit);
    let mut enterprise = per_client.clone();
    enterprise["match"] = json!({ "tier": "enterprise" });
    enterprise["id"] = "enterprise".into();
    let health = json!({ "id": "health", "match": { "route": "GET /healthz" }, "action": "allow" });
    json!({ "rule": [per_client, enterprise, health] })
}

fn numbers_of(limit: &Limit) -> Value {
    let mut rule = json!({
        "id": "per-client",
        "key": ["client"],
        "algorithm": limit.algorithm().name(),
        "limit": limit.limit(),
        "window": format!("{}s", numbers::period_us(limit) / SECOND_US),
    });
    if let Some(burst) = limit.burst() {
        rule["burst"] = burst.into();
    }
    rule
}

impl Askable for Limiter {
    async fn ask(&self, account: &str, cost: u64) -> Answer {
        let subject = Subject { client: Some(account), tier: Some("free"), ..Subject::new("POST", ROUTE) };
        let decision = self.0.check(&Call { cost, ..Call::new(subject) }).await;
        let is_alone = decision.checks.iter().any(|check| check.source == Source::Fallback);
        match decision.allowed {
            _ if is_alone => Answer::Undecided, // the gateway's own guess is no decision of the target
            true => Answer::Allowed,
            false => Answer::Denied,
        }
    }
}

#[cfg(test)]
mod tests {
    use tallyring_engine::Algorithm;

    use super::*;
    use crate::cli::bench::mix::Mix;

    #[test]
    fn the_rules_of_every_algorithm_have_its_numbers_and_one_is_for_the_call() {
        for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Concurrency) {
            let limit = numbers::load(algorithm, Mix::Uniform);
            let rules = RuleSet::from_json(document(&limit).to_string().as_bytes()).unwrap();
            let numbers = rules.rules()[0].numbers().unwrap();
            assert_eq!(numbers.limit, limit.limit(), "{algorithm:?}");
            assert_eq!(rules.rules().len(), 3);
        }
    }
}
