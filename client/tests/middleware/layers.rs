//! Two layers that share one limiter: one before authentication, one behind it.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tallyring_client::RateLimiter;
use tallyring_client::middleware::RateLimitLayer;

use crate::gateway::{Gateway, from, limiter, lines, nowhere, problem, value, whose, with};

/// The document: the client's rule stands before the address's.
fn rules(per_ip: u64, per_client: u64) -> [String; 2] {
    let rule = |id: &str, group: &str, key: &str, burst: u64| {
        format!(
            r#"{{"id":"{id}","group":"{group}","key":["{key}"],"algorithm":"token_bucket","limit":60,"window":"60s","burst":{burst}}}"#
        )
    };
    [rule("per-client", "client", "client", per_client), rule("per-ip", "ip", "ip", per_ip)]
}

/// Lets whoever has a key pass.
async fn authenticate(request: Request, next: Next) -> Result<Response, StatusCode> {
    if request.headers().contains_key("x-api-key") {
        Ok(next.run(request).await)
    } else {
        Err(StatusCode::UNAUTHORIZED)
    }
}

fn gateway(per_ip: u64, per_client: u64) -> (Gateway, RateLimiter) {
    let rules = rules(per_ip, per_client);
    let limiter = limiter(&nowhere(), &[&rules[0], &rules[1]]);
    let (before, behind) = (limiter.clone(), limiter.clone());
    let gateway = Gateway::behind(|app| {
        app.layer(RateLimitLayer::new(behind, whose).without_groups(["ip"]))
            .layer(from_fn(authenticate))
            .layer(RateLimitLayer::new(before, whose).groups(["ip"]))
    });
    (gateway, limiter)
}

async fn get(gateway: &Gateway, headers: &[(&str, &str)]) -> axum::http::Response<axum::body::Body> {
    gateway.send(from("192.0.2.1", with(headers))).await
}

const KEY: (&str, &str) = ("x-api-key", "k");

#[tokio::test(start_paused = true)]
async fn each_rule_is_asked_once_and_the_response_says_what_both_layers_decided() {
    let (gateway, limiter) = gateway(5, 3);
    let response = get(&gateway, &[KEY]).await;
    assert_eq!(limiter.counts().fallback_allowed, 2);
    assert_eq!(value(&response, "ratelimit-policy"), Some(r#""per-client";q=3;w=3, "per-ip";q=5;w=5"#));
    assert_eq!(value(&response, "ratelimit"), Some(r#""per-client";r=2;t=1, "per-ip";r=4;t=1"#));
    assert_eq!(value(&response, "ratelimit-remaining"), Some("2"));
    assert_eq!(value(&response, "ratelimit-limit"), Some("3"));
}

#[tokio::test(start_paused = true)]
async fn the_strictest_of_both_speaks_wherever_it_is() {
    let (gateway, _) = gateway(2, 9);
    let response = get(&gateway, &[KEY]).await;
    assert_eq!(value(&response, "ratelimit-remaining"), Some("1"));
    assert_eq!(value(&response, "ratelimit-limit"), Some("2"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_refused_before_authentication() {
    let (gateway, _) = gateway(2, 9);
    for status in [401, 401, 429] {
        let response = get(&gateway, &[]).await;
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(value(&response, "ratelimit-policy"), Some(r#""per-ip";q=2;w=2"#));
    }
    let problem = problem(get(&gateway, &[KEY]).await).await;
    assert_eq!((&problem["violated-policies"], gateway.reached()), (&serde_json::json!(["per-ip"]), 0));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_behind_authentication_keeps_its_wait_and_gains_what_the_first_layer_says() {
    let (gateway, _) = gateway(9, 1);
    get(&gateway, &[KEY]).await;
    let response = get(&gateway, &[KEY]).await;
    assert_eq!((response.status().as_u16(), value(&response, "ratelimit-limit")), (429, Some("1")));
    assert_eq!(value(&response, "ratelimit-policy"), Some(r#""per-client";q=1;w=1, "per-ip";q=9;w=9"#));
    assert_eq!(lines(&response).iter().filter(|line| line.starts_with("retry-after: ")).count(), 1);
    assert_eq!(problem(response).await["violated-policies"], serde_json::json!(["per-client"]));
}

#[tokio::test(start_paused = true)]
async fn what_the_second_layer_refuses_costs_nothing_in_the_first() {
    let (gateway, limiter) = gateway(9, 1);
    for remaining in ["8", "8", "8"] {
        let response = get(&gateway, &[KEY]).await;
        let (_, per_ip) = value(&response, "ratelimit").unwrap().split_once(r#""per-ip";r="#).unwrap();
        assert_eq!(per_ip.split(';').next(), Some(remaining));
    }
    let peek = get(&gateway, &[("x-api-key", "somebody else")]).await;
    assert_eq!(value(&peek, "ratelimit"), Some(r#""per-client";r=0;t=1, "per-ip";r=7;t=2"#));
    assert_eq!((gateway.reached(), limiter.counts().fallback_denied), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn what_authentication_refuses_has_cost_a_unit() {
    let (gateway, _) = gateway(9, 1);
    for remaining in ["8", "7"] {
        let response = get(&gateway, &[]).await;
        assert_eq!((response.status().as_u16(), value(&response, "ratelimit-remaining")), (401, Some(remaining)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_application_sees_what_both_decided() {
    use axum::{Extension, Router};
    use tallyring_client::Decision;
    let rules = rules(9, 9);
    let limiter = limiter(&nowhere(), &[&rules[0], &rules[1]]);
    let seen = async |Extension(decision): Extension<Decision>| {
        decision.checks.iter().map(|check| check.rule.id().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let app = Router::new()
        .fallback(seen)
        .layer(RateLimitLayer::new(limiter.clone(), whose).without_groups(["ip"]))
        .layer(RateLimitLayer::new(limiter, whose).groups(["ip"]));
    let response = get(&Gateway::of(app), &[KEY]).await;
    assert_eq!(axum::body::to_bytes(response.into_body(), 100).await.unwrap(), "per-client per-ip");
}
