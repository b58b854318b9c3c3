//! `/v1/limit` and `/v1/keys`: explicit numbers, raw keys, and what is no question at all.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::{PATIENCE, Response, Serve, hash_of};
use serde_json::{Value, json};

fn post(node: &Serve, path: &str, body: &str) -> Response {
    node.ask("POST", path, &[("Content-Type", "application/json")], body)
}

fn bucket(key: &str, cost: u64) -> Value {
    json!({ "key": key, "algorithm": "token_bucket", "limit": 10, "period_us": 86_400_000_000_u64, "cost": cost })
}

fn decide(node: &Serve, event: &Value) -> Value {
    let response = post(node, "/v1/limit", &event.to_string());
    assert_eq!(response.code, 200, "{event}: {}", response.body);
    response.json()
}

/// A bad request, the path of its first bad field, and nothing else.
fn refused(node: &Serve, path: &str, body: &str, field: &str) {
    let response = post(node, path, body);
    assert_eq!((response.code, response.header("content-type")), (400, Some("application/problem+json")), "{body}");
    let problem = response.json();
    assert_eq!(problem["errors"][0]["path"], field, "{body}: {problem}");
    assert!(problem["detail"].as_str().unwrap().starts_with(&format!("{field}: ")), "{problem}");
}

fn keys(node: &Serve) -> u64 {
    let metrics = node.get("/metrics").1;
    let lines = metrics.lines().filter(|line| line.starts_with("tallyring_shard_keys{"));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn a_key_is_looked_at_and_given_back_under_every_algorithm() {
    let node = Serve::start(&["--shards", "2"]);
    assert_eq!(node.ask("GET", "/v1/keys/cust_42", &[], "").json(), json!({ "key": "cust_42", "budgets": [] }));
    assert_eq!(decide(&node, &bucket("a/{t}b", 4))["remaining"], 6);
    let day = json!({ "key": "a/{t}b", "algorithm": "fixed_window", "limit": 7, "calendar": "day", "cost": 2 });
    decide(&node, &day);
    decide(&node, &json!({ "op": "acquire", "key": "a/{t}b", "holder": "h", "limit": 3, "ttl_us": 60_000_000 }));
    for path in ["/v1/keys/a/%7Bt%7Db", "/v1/keys/a%2F%7Bt%7Db"] {
        let held = node.ask("GET", path, &[], "").json();
        let budgets = held["budgets"].as_array().unwrap();
        let told =
            budgets.iter().map(|budget| (budget["algorithm"].as_str().unwrap(), budget["remaining"].as_u64().unwrap()));
        assert_eq!(told.collect::<Vec<_>>(), [("token_bucket", 6), ("fixed_window", 5), ("concurrency", 2)]);
        assert_eq!([&budgets[1]["calendar"], &budgets[0]["period_us"]], [&json!("day"), &json!(86_400_000_000_u64)]);
    }
    assert_eq!(node.ask("DELETE", "/v1/keys/a/%7Bt%7Db", &[], "").json(), json!({ "found": true }));
    assert_eq!(node.ask("GET", "/v1/keys/a/%7Bt%7Db", &[], "").json()["budgets"], json!([]));
}

#[test]
fn an_answer_names_the_instant_that_a_refund_needs() {
    let node = Serve::start(&["--shards", "1"]);
    let charged = post(&node, "/v1/limit", &bucket("k", 4).to_string());
    let at_us: u64 = charged.header("tallyring-at-us").unwrap().parse().unwrap();
    let mut refund = bucket("k", 4);
    (refund["op"], refund["charged_at_us"]) = (json!("refund"), json!(at_us));
    assert_eq!(decide(&node, &refund)["remaining"], 10);
}

#[test]
fn keys_have_a_longest_length_and_are_refused_above_it() {
    // proto-key-01
    let node = Serve::start(&["--shards", "1"]);
    for len in [511, 512] {
        assert_eq!(decide(&node, &bucket(&"k".repeat(len), 1))["allowed"], true);
    }
    for _ in 0..100 {
        refused(&node, "/v1/limit", &bucket(&"k".repeat(513), 1).to_string(), "key");
    }
    assert_eq!(post(&node, "/v1/limit", &bucket(&"k".repeat(1 << 20), 1).to_string()).code, 413);
    assert_eq!(keys(&node), 2, "what was refused left nothing");
    let path = format!("/v1/keys/{}", "k".repeat(513));
    assert_eq!(node.ask("GET", &path, &[], "").json()["errors"][0]["path"], "key");
}

#[test]
fn a_null_where_a_value_belongs_is_an_error() {
    // proto-nil-01
    let node = Serve::start(&["--shards", "1"]);
    for (field, path) in [("key", "key"), ("cost", "cost"), ("limit", "limit"), ("algorithm", "algorithm")] {
        let mut event = bucket("k", 1);
        event[field] = Value::Null;
        refused(&node, "/v1/limit", &event.to_string(), path);
    }
    refused(&node, "/v1/check", r#"{"cost":null}"#, "cost");
    assert_eq!(node.get("/livez").0, 200);
}

#[test]
fn a_field_that_no_event_has_is_refused_and_nothing_is_charged() {
    let node = Serve::start(&["--shards", "1"]);
    let mut event = bucket("k", 1);
    event["cots"] = json!(5);
    refused(&node, "/v1/limit", &event.to_string(), "cots");
    let mut joint = json!({ "op": "check_all", "checks": [bucket("k", 1), bucket("k", 1)] });
    joint["checks"][1]["op"] = json!("refund");
    refused(&node, "/v1/limit", &joint.to_string(), "checks[1].op");
    refused(&node, "/v1/settle", r#"{"id":"x","actual":1,"actul":2}"#, "actul");
    assert_eq!(keys(&node), 0);
    let mut spare = bucket("k", 1);
    spare["holder"] = json!("what other operations have is not looked at");
    assert_eq!(decide(&node, &spare)["remaining"], 9);
}

#[test]
fn what_takes_nothing_leaves_nothing() {
    // ops-mem-03
    let node = Serve::start(&["--shards", "1"]);
    for no in 0..100 {
        let key = format!("key-{no}");
        assert_eq!(decide(&node, &bucket(&key, 0))["remaining"], 10);
        assert_eq!(decide(&node, &bucket(&key, 11))["retry_after_us"], Value::Null);
        let mut event = bucket(&key, 1);
        event["cost"] = json!(-1);
        refused(&node, "/v1/limit", &event.to_string(), "cost");
    }
    assert_eq!(keys(&node), 0);
}

#[test]
fn keys_of_one_decision_share_a_shard_or_are_refused() {
    let node = Serve::start(&["--shards", "64"]);
    let joint = |keys: [&str; 3]| json!({ "op": "check_all", "checks": keys.map(|key| bucket(key, 1)) }).to_string();
    assert_eq!(post(&node, "/v1/limit", &joint(["{t}a", "{t}b", "{t}c"])).json()["allowed"], true);
    // Three keys in the same one of 64 shards would be bad luck; of thirty not once is none.
    let apart = (0..10).map(|no| {
        let keys = ["a", "b", "c"].map(|key| format!("{key}{no}"));
        post(&node, "/v1/limit", &joint(keys.each_ref().map(String::as_str)))
    });
    let refused = apart.filter(|response| response.code == 400 && response.body.contains("cross_shard")).count();
    assert!(refused > 0);
    let mut twice = json!({ "op": "check_all", "checks": [bucket("k", 1), bucket("k", 1)] });
    twice["checks"][1]["limit"] = json!(11);
    self::refused(&node, "/v1/limit", &twice.to_string(), "checks[1].limit");
}

#[test]
fn bodies_are_bounded_and_in_json() {
    let node = Serve::start(&["--shards", "1"]);
    assert_eq!(post(&node, "/v1/check", &format!("{{\"client\":\"{}\"}}", "x".repeat(64 * 1_024))).code, 413);
    let typed = |kind: &str| node.ask("POST", "/v1/check", &[("Content-Type", kind)], "{}").code;
    let kinds =
        ["application/json; charset=utf-8", "application/x-www-form-urlencoded", "text/plain", "application/toml"];
    assert_eq!(kinds.map(typed), [200, 200, 415, 415]);
    refused(&node, "/v1/check", "", "body");
    refused(&node, "/v1/limit", "\u{0}", "body");
    refused(&node, "/v1/check", r#"{"teir":"free"}"#, "teir");
    assert_eq!(node.ask("GET", "/v1/check", &[], "").code, 405);
}

/// What is answered to bytes as they are, until the connection is closed.
fn raw(node: &Serve, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(node.http).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn what_is_no_request_as_http_has_it_is_told_why() {
    let node = Serve::start(&["--shards", "1"]);
    let check = |request: &str, status: u16, expect: &str| {
        let answer = raw(&node, request.replace('\n', "\r\n").as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(expect), "{request}: {answer}");
        assert!(answer.ends_with('\n'), "{answer:?}");
    };
    for path in ["/livez", "/v1/rules"] {
        check(&format!("GET {path} HTTP/1.1\nConnection: close\n\n"), 400, "Host: missing");
        check(&format!("GET {path} HTTP/1.1\nHost: a\nHost: a\nConnection: close\n\n"), 400, "more than once");
    }
    let close = "Connection: close\n\n";
    check(&format!("GET /v1/rules HTTP/1.1\nHost: evil.example\n{close}"), 421, "evil.example");
    check(&format!("GET http://evil.example/v1/rules HTTP/1.1\nHost: localhost\n{close}"), 421, "evil.example");
    check(&format!("GET http://localhost/v1/rules HTTP/1.1\nHost: evil.example\n{close}"), 200, "");
    check(&format!("GET /v1/keys/a%zz HTTP/1.1\nHost: localhost\n{close}"), 400, "at byte 10");
    let post = "POST /v1/check HTTP/1.1\nHost: localhost\nContent-Type: application/json\nTransfer-Encoding: ";
    check(&format!("{post}gzip, chunked\n\n2\n{{}}\n0\n\n"), 501, "the only coding");
    check(&format!("{post}chunked\nConnection: close\n\nxyz\n"), 400, "its chunks make no sense");
    check(&format!("{post}chunked\nConnection: close\n\n2\n{{}}\n0\n\n"), 200, "\"allowed\":true");
}

#[test]
fn a_declared_length_is_not_an_allocation() {
    // proto-len-01
    let node = Serve::start(&["--shards", "1"]);
    node.get("/livez");
    let before_kib = node.resident_kib();
    let lengths = ["5500000000000000000", "536870912"];
    let silent: Vec<TcpStream> = (0..100)
        .map(|no| {
            let mut stream = TcpStream::connect(node.http).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let length = lengths[no % lengths.len()];
            let head = format!("POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(decide(&node, &bucket("k", 1))["allowed"], true, "others are served meanwhile");
    assert!(node.resident_kib() - before_kib < 64 * 1_024);
    for mut stream in silent {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(node.get("/livez").0, 200);
}

#[test]
fn a_client_may_ask_and_an_admin_may_reset() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = dir.path().join("tokens.toml");
    std::fs::write(&tokens, format!("client = [\"{}\"]\nadmin = [\"{}\"]\n", hash_of("gateway"), hash_of("operator")))
        .unwrap();
    let node = Serve::start(&["--shards", "1", "--token-file", tokens.to_str().unwrap()]);
    let ask = |method: &str, path: &str, token: Option<&str>, body: &str| {
        let authorization = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> = authorization.iter().map(|value| ("Authorization", &**value)).collect();
        node.ask(method, path, &headers, body).code
    };
    let event = bucket("k", 1).to_string();
    for (path, body) in [("/v1/check", "{}"), ("/v1/limit", &event), ("/v1/settle", r#"{"id":"x","actual":1}"#)] {
        let codes = [None, Some("wrong"), Some("gateway"), Some("operator")];
        assert_eq!(codes.map(|token| ask("POST", path, token, body)), [401, 401, 200, 200], "{path}");
    }
    assert_eq!(ask("GET", "/v1/keys/k", Some("gateway"), ""), 200);
    assert_eq!(ask("DELETE", "/v1/keys/k", Some("gateway"), ""), 403);
    assert_eq!(ask("DELETE", "/v1/keys/k", Some("operator"), ""), 200);
}
