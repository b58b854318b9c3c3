//! Whose request it is.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Parts;
use tallyring_client::middleware::{Identity, RateLimitLayer, header};

use crate::gateway::{Gateway, from, limiter, limiter_of, nowhere, with};

/// One unit for each of `key`, a day.
fn once(key: &str) -> String {
    format!(r#"{{"id":"once","key":["{key}"],"algorithm":"token_bucket","limit":1,"window":"60s"}}"#)
}

/// Sends the requests and says which statuses came.
async fn statuses(gateway: &Gateway, requests: impl IntoIterator<Item = Request<Body>>) -> Vec<u16> {
    let mut statuses = Vec::new();
    for request in requests {
        statuses.push(gateway.send(request).await.status().as_u16());
    }
    statuses
}

/// Whether requests from a trusted proxy with these `X-Forwarded-For` count as one client each: 429 where one was seen
/// before.
async fn check_forwarded(rows: &[(&str, u16)]) {
    let trusted = r#"{"trusted_proxies":["10.0.0.0/8"]}"#;
    let gateway = Gateway::new(limiter_of(&nowhere(), &format!(r#"{{"defaults":{trusted},"rule":[{}]}}"#, once("ip"))));
    for (forwarded, status) in rows {
        let request = from("10.0.0.1", with(&[("x-forwarded-for", forwarded)]));
        assert_eq!(gateway.send(request).await.status().as_u16(), *status, "{forwarded}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_can_add_to_the_left_of_a_forwarded_address_alone() {
    // http-ip-01; hops are counted by the trusted ranges
    check_forwarded(&[
        ("6.6.6.6, 198.51.100.7", 200),
        ("7.7.7.7, 198.51.100.7, 10.0.0.9", 429),
        ("198.51.100.7", 429),
        ("", 200), // the proxy itself
        ("not-an-ip", 429),
        ("198.51.100.7, not-an-ip", 429),
        ("198.51.100.8", 200),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_port_is_no_part_of_a_client() {
    // http-ip-03
    check_forwarded(&[
        ("203.0.113.9:51000", 200),
        ("203.0.113.9:51001", 429),
        ("203.0.113.9", 429),
        ("[2001:db8:0:1::5]:443", 200),
        ("[2001:db8:0:1::5]", 429),
        ("2001:db8:0:1::5", 429),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_mapped_address_is_ipv4_and_a_dotted_tail_alone_is_not() {
    // http-ip-05
    check_forwarded(&[
        ("1.2.3.4", 200),
        ("::ffff:1.2.3.4", 429),
        ("::ffff:102:304", 429),
        ("0:0:0:0:0:ffff:0102:0304", 429),
        ("2001:db8:1234:5678::1.2.3.4", 200),
        ("2001:db8:1234:5678::102:304", 429),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn nobodys_forwarded_address_is_believed_unless_the_rules_trust_it() {
    let gateway = Gateway::new(limiter(&nowhere(), &[&once("ip")]));
    let forwarded = |address| from("198.51.100.7", with(&[("x-forwarded-for", address)]));
    assert_eq!(statuses(&gateway, [forwarded("1.1.1.1"), forwarded("2.2.2.2")]).await, [200, 429]);
}

/// Two units a value of `X-Api-Key`, and the requests of http-ip-07: three addresses without it, one with an empty one.
async fn check_missing(missing: &str, charged: u64) {
    let rule = r#"{"id":"k","key":["header:X-Api-Key"],"algorithm":"fixed_window","limit":2,"window":"60s"MISSING}"#;
    let limiter = limiter(&nowhere(), &[&rule.replace("MISSING", missing)]);
    let gateway = Gateway::new(limiter.clone());
    let requests = [
        from("192.0.2.1", with(&[])),
        from("192.0.2.1", with(&[])),
        from("192.0.2.2", with(&[])),
        from("192.0.2.3", with(&[("x-api-key", "")])),
        from("192.0.2.4", with(&[("x-api-key", "k1")])),
    ];
    assert_eq!(statuses(&gateway, requests).await, [200; 5]);
    assert_eq!(limiter.counts().fallback_allowed, charged);
}

#[tokio::test(start_paused = true)]
async fn no_identity_never_means_one_shared_bucket() {
    // http-ip-07
    check_missing("", 1).await;
    check_missing(r#","missing":"ip""#, 5).await;
}

#[tokio::test(start_paused = true)]
async fn a_closure_says_whose_it_is() {
    let limiter = limiter(&nowhere(), &[&once("attr:plan")]);
    let layer = RateLimitLayer::new(limiter, |request: &Parts| Identity {
        attributes: BTreeMap::from([("plan".to_owned(), "a".to_owned())]),
        client: header(request, "x-api-key"),
        ..Identity::default()
    });
    let app = Router::new().fallback(|| async { "" }).layer(layer);
    let gateway = Gateway::of(app);
    assert_eq!(statuses(&gateway, [with(&[]), with(&[])]).await, [200, 429]);
}

#[tokio::test(start_paused = true)]
async fn cost_and_priority_come_with_the_identity() {
    let rule = r#"{"id":"p","key":["client"],"algorithm":"token_bucket","limit":10,"window":"60s",
        "priorities":{"critical":"always","sheddable":"0.5"}}"#;
    let gateway = Gateway::new(limiter(&nowhere(), &[rule]));
    let request = |cost, priority| with(&[("x-api-key", "k"), ("x-cost", cost), ("x-priority", priority)]);
    let requests = [request("5", "sheddable"), request("1", "sheddable"), request("5", "unknown")];
    assert_eq!(statuses(&gateway, requests).await, [200, 429, 200]);
    assert_eq!(statuses(&gateway, [request("9", "unknown"), request("9", "critical")]).await, [429, 200]);
}
