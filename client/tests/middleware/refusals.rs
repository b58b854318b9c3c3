//! What a refused request is answered with.

use crate::fake::FakeStore;
use crate::gateway::{Gateway, TWO_AT_ONCE, limiter, limiter_of, nowhere, patient, problem, value, with};

/// The same limit, under another name and in another group.
const OTHER: &str =
    r#"{"id":"q","group":"other","key":["client"],"algorithm":"token_bucket","limit":20,"window":"60s","burst":2}"#;

#[tokio::test]
async fn a_refused_request_is_a_problem_and_does_not_reach_the_backend() {
    let fake = FakeStore::start(1).await;
    let gateway = Gateway::new(limiter(&patient(&fake), &[TWO_AT_ONCE]));
    for _ in 0..2 {
        gateway.get("k").await;
    }
    let response = gateway.get("k").await;
    assert_eq!((response.status().as_u16(), value(&response, "retry-after")), (429, Some("2")));
    let problem = problem(response).await;
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!((&problem["status"], &problem["violated-policies"]), (&429.into(), &serde_json::json!(["p"])));
    assert_eq!(gateway.reached(), 2);
}

#[tokio::test]
async fn every_rule_that_refused_is_named() {
    // the kind of http-retry-07
    let fake = FakeStore::start(1).await;
    let third = OTHER.replace(r#""q""#, r#""r""#).replace("other", "third").replace(r#""burst":2"#, r#""burst":9"#);
    let gateway = Gateway::new(limiter(&patient(&fake), &[TWO_AT_ONCE, OTHER, &third]));
    for _ in 0..2 {
        gateway.get("k").await;
    }
    let problem = problem(gateway.get("k").await).await;
    assert_eq!(problem["violated-policies"], serde_json::json!(["p", "q"]));
}

#[tokio::test]
async fn clients_have_budgets_of_their_own() {
    let fake = FakeStore::start(1).await;
    let gateway = Gateway::new(limiter(&patient(&fake), &[TWO_AT_ONCE]));
    for key in ["a", "b"] {
        for status in [200, 200, 429] {
            assert_eq!(gateway.get(key).await.status().as_u16(), status, "{key}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_no_wait_helps_is_not_told_to_wait() {
    let gateway = Gateway::new(limiter(&nowhere(), &[TWO_AT_ONCE]));
    let response = gateway.send(with(&[("x-api-key", "k"), ("x-cost", "3")])).await;
    assert_eq!((response.status().as_u16(), value(&response, "retry-after")), (429, None));
    assert_eq!(value(&response, "ratelimit"), Some(r#""p";r=2"#));
    assert!(problem(response).await["detail"].as_str().unwrap().contains("does not help"));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_denies_without_the_store_answers_503() {
    let deny = TWO_AT_ONCE.replace(r#""burst":2"#, r#""burst":2,"mode":"deny""#);
    let gateway = Gateway::new(limiter(&nowhere(), &[&deny]));
    let response = gateway.get("k").await;
    assert_eq!(response.status().as_u16(), 503);
    let seconds: u64 = value(&response, "retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&seconds), "{seconds}");
    let problem = problem(response).await;
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity");
    assert_eq!(gateway.reached(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_used_up_is_429_also_beside_a_rule_that_denies_without_the_store() {
    let deny = OTHER.replace(r#""burst":2"#, r#""burst":2,"mode":"deny""#);
    let used_up = TWO_AT_ONCE.replace(r#""burst":2"#, r#""burst":1"#);
    let gateway = Gateway::new(limiter(&nowhere(), &[&used_up, &deny]));
    let response = gateway.send(with(&[("x-api-key", "k"), ("x-cost", "2")])).await;
    assert_eq!(response.status().as_u16(), 429, "it never fits, whatever the store would say");
}

#[tokio::test(start_paused = true)]
async fn a_blocked_request_is_forbidden_and_charges_nothing() {
    let block = r#"{"id":"evil","group":"block","match":{"client":"mallory"},"action":"block"}"#;
    let gateway = Gateway::new(limiter(&nowhere(), &[block, TWO_AT_ONCE]));
    for _ in 0..5 {
        let response = gateway.get("mallory").await;
        assert_eq!((response.status().as_u16(), value(&response, "retry-after")), (403, None));
        assert_eq!(problem(response).await["violated-policies"], serde_json::json!(["evil"]));
    }
    assert_eq!((gateway.get("alice").await.status().as_u16(), gateway.reached()), (200, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_jittered_as_the_rules_say_and_never_early() {
    let empty = r#"{"id":"p","key":["client"],"algorithm":"token_bucket","limit":1,"window":"100s"}"#;
    let told = async |jitter: &str| {
        let document = format!(r#"{{"defaults":{{"retry_jitter":"{jitter}"}},"rule":[{empty}]}}"#);
        let gateway = Gateway::new(limiter_of(&nowhere(), &document));
        let mut told = std::collections::BTreeSet::new();
        for client in 0..50 {
            gateway.get(&client.to_string()).await;
            let response = gateway.get(&client.to_string()).await;
            told.insert(value(&response, "retry-after").unwrap().parse::<u64>().unwrap());
        }
        told
    };
    // The bucket has been refilling for a moment when the second request comes.
    let (exact, jittered) = (told("0").await, told("0.2").await);
    assert!(exact.iter().all(|seconds| (99..=100).contains(seconds)), "{exact:?}");
    assert!(jittered.iter().all(|seconds| (99..=120).contains(seconds)), "{jittered:?}");
    assert!(jittered.len() > 5, "{jittered:?}");
}

/// What a gRPC client is answered after two units of `rule` are used: status, message and pushback.
async fn grpc(rule: &str, cost: &str) -> (String, String, String) {
    let gateway = Gateway::new(limiter(&nowhere(), &[rule]));
    for _ in 0..2 {
        gateway.get("k").await;
    }
    let headers = [("x-api-key", "k"), ("x-cost", cost), ("content-type", "application/grpc+proto")];
    let response = gateway.send(with(&headers)).await;
    assert_eq!((response.status().as_u16(), value(&response, "content-type")), (200, Some("application/grpc")));
    let text = |name: &str| value(&response, name).unwrap().to_owned();
    let said = (text("grpc-status"), text("grpc-message"), text("grpc-retry-pushback-ms"));
    assert_eq!(axum::body::to_bytes(response.into_body(), 10).await.unwrap(), "");
    said
}

#[tokio::test(start_paused = true)]
async fn a_grpc_client_is_told_in_its_own_words() {
    let exact = TWO_AT_ONCE.replace(r#""limit":20,"window":"60s""#, r#""limit":1,"window":"1s""#);
    let (status, message, pushback_ms) = grpc(&exact, "1").await;
    assert_eq!((status.as_str(), message.contains("Retry-After")), ("8", true));
    assert!(["1000", "2000"].contains(&pushback_ms.as_str()), "{pushback_ms}");

    let (status, message, pushback_ms) = grpc(TWO_AT_ONCE, "3").await;
    assert_eq!((status.as_str(), message.contains("does not help"), pushback_ms.as_str()), ("8", true, "-1"));

    let deny = TWO_AT_ONCE.replace(r#""burst":2"#, r#""burst":2,"mode":"deny""#);
    assert_eq!(grpc(&deny, "1").await.0, "14");
    assert_eq!(grpc(r#"{"id":"p","action":"block"}"#, "1").await.0, "7");
}
