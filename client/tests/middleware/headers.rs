//! What every response says.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::fake::FakeStore;
use crate::gateway::{Gateway, TWO_AT_ONCE, limiter, limiter_of, lines, nowhere, patient, value, with};

/// An hour's budget of another size, beside [`TWO_AT_ONCE`].
const HOUR: &str =
    r#"{"id":"hour","group":"hour","key":["client"],"algorithm":"sliding_counter","limit":100,"window":"1h"}"#;

#[tokio::test]
async fn an_allowed_response_says_what_is_left_in_every_family() {
    let fake = FakeStore::start(1).await;
    let gateway = Gateway::new(limiter(&patient(&fake), &[TWO_AT_ONCE]));
    let response = gateway.get("k").await;
    assert_eq!((response.status().as_u16(), gateway.reached()), (200, 1));
    assert_eq!(value(&response, "ratelimit-policy"), Some(r#""p";q=2;w=6"#));
    assert_eq!(value(&response, "ratelimit"), Some(r#""p";r=1;t=2"#));
    for (name, expect) in [("limit", "2"), ("remaining", "1")] {
        assert_eq!(value(&response, &format!("ratelimit-{name}")), Some(expect));
        assert_eq!(value(&response, &format!("x-ratelimit-{name}")), Some(expect));
    }
    assert_eq!(value(&response, "ratelimit-reset"), Some("2"));
    assert_eq!(value(&response, "retry-after"), None);
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "what an absolute stamp is compared with")]
async fn an_absolute_reset_lies_after_the_end_of_the_response() {
    let fake = FakeStore::start(1).await;
    let gateway = Gateway::new(limiter(&patient(&fake), &[TWO_AT_ONCE]));
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let response = gateway.get("k").await;
    let reset: u64 = value(&response, "x-ratelimit-reset").unwrap().parse().unwrap();
    assert!(reset >= before.as_secs() + 2, "{reset} is less than 2 s after {before:?}");
}

#[tokio::test]
async fn a_refused_response_says_the_same_and_when_to_come_back() {
    let fake = FakeStore::start(1).await;
    let document = format!(r#"{{"defaults":{{"headers":["ratelimit","structured"]}},"rule":[{TWO_AT_ONCE}]}}"#);
    let gateway = Gateway::new(limiter_of(&patient(&fake), &document));
    for _ in 0..2 {
        gateway.get("k").await;
    }
    let expect = [
        "ratelimit-limit: 2",
        "ratelimit-policy: \"p\";q=2;w=6",
        "ratelimit-remaining: 0",
        "ratelimit-reset: 2",
        "ratelimit: \"p\";r=0;t=2",
        "retry-after: 2", // 1.5 s and up to 0.3 s, rounded up
    ];
    assert_eq!(lines(&gateway.get("k").await), expect);
}

#[tokio::test(start_paused = true)]
async fn the_rules_choose_the_families() {
    let check = async |families: &str, expect: &[&str]| {
        let document = format!(r#"{{"defaults":{{"headers":[{families}]}},"rule":[{TWO_AT_ONCE}]}}"#);
        let response = Gateway::new(limiter_of(&nowhere(), &document)).get("k").await;
        let lines = lines(&response);
        let names: BTreeSet<&str> = lines.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(names, expect.iter().copied().collect(), "{families}");
    };
    check(r#""structured""#, &["ratelimit", "ratelimit-policy"]).await;
    check(r#""ratelimit""#, &["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]).await;
    check(r#""x-ratelimit""#, &["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]).await;
    check("", &[]).await;
}

#[tokio::test]
async fn all_rules_that_apply_are_listed_and_the_strictest_speaks() {
    // the kind of http-head-02
    let fake = FakeStore::start(1).await;
    let gateway = Gateway::new(limiter(&patient(&fake), &[HOUR, TWO_AT_ONCE]));
    let response = gateway.get("k").await;
    assert_eq!(value(&response, "ratelimit-policy"), Some(r#""hour";q=100;w=3600, "p";q=2;w=6"#));
    assert_eq!(value(&response, "ratelimit"), Some(r#""hour";r=99;t=2, "p";r=1;t=2"#));
    assert_eq!(value(&response, "ratelimit-limit"), Some("2"));
    assert_eq!(value(&response, "ratelimit-remaining"), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn rules_in_shadow_are_in_no_header() {
    let shadow = HOUR.replace(r#""limit":100"#, r#""limit":1,"mode":"shadow""#);
    let gateway = Gateway::new(limiter(&nowhere(), &[&shadow, TWO_AT_ONCE]));
    for remaining in ["1", "0"] {
        let response = gateway.get("k").await;
        assert_eq!(value(&response, "ratelimit-policy"), Some(r#""p";q=2;w=6"#));
        assert_eq!(value(&response, "ratelimit-remaining"), Some(remaining));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_no_rule_is_for_has_no_headers() {
    let elsewhere = TWO_AT_ONCE.replace(r#""key""#, r#""match":{"route":"/elsewhere"},"key""#);
    let off = format!(r#"{{"defaults":{{"enforce":false}},"rule":[{TWO_AT_ONCE}]}}"#);
    for document in [format!(r#"{{"rule":[{elsewhere}]}}"#), off, "{}".to_owned()] {
        let gateway = Gateway::new(limiter_of(&nowhere(), &document));
        for _ in 0..5 {
            let response = gateway.send(with(&[("x-api-key", "k")])).await;
            assert_eq!((response.status().as_u16(), lines(&response)), (200, vec![]), "{document}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_backends_own_retry_after_is_left_alone() {
    use axum::response::IntoResponse as _;
    let limiter = limiter(&nowhere(), &[TWO_AT_ONCE]);
    let backend = || async { (axum::http::StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "120")]).into_response() };
    let layer = tallyring_client::middleware::RateLimitLayer::new(limiter, crate::gateway::whose);
    let app = axum::Router::new().fallback(backend).layer(layer);
    let response = Gateway::of(app).get("k").await;
    assert_eq!((response.status().as_u16(), value(&response, "retry-after")), (503, Some("120")));
    assert_eq!(value(&response, "ratelimit-remaining"), Some("1"));
}
