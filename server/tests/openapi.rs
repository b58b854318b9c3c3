//! What the description of the HTTP door promises is there, and what is there is described.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;

use std::collections::BTreeSet;

use common::Serve;
use serde_json::{Value, json};

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

fn document(node: &Serve) -> Value {
    let response = node.ask("GET", "/openapi.json", &[], "");
    assert_eq!((response.code, response.header("content-type")), (200, Some("application/json")));
    response.json()
}

#[test]
fn every_method_of_every_path_is_described_and_no_other() {
    let node = Serve::start(&["--shards", "1"]);
    let document = document(&node);
    for (path, described) in document["paths"].as_object().unwrap() {
        let path = path.replace("{key}", "k").replace("{tier}", "free").replace("{version}", "1");
        for method in METHODS {
            let code = node.ask(&method.to_uppercase(), &path, &[], "").code;
            assert_eq!(code != 405, described.get(method).is_some(), "{method} {path}: {code}");
        }
    }
}

/// The names of an answer's fields are those of its schema: all that are required, and none that is not there.
fn check(document: &Value, schema: &str, answer: &Value) {
    let schema = document.pointer(schema).unwrap();
    let names = |names: &mut dyn Iterator<Item = &String>| names.cloned().collect::<BTreeSet<_>>();
    let known = names(&mut schema["properties"].as_object().unwrap().keys());
    let found = names(&mut answer.as_object().unwrap().keys());
    let required: BTreeSet<String> = serde_json::from_value(schema["required"].clone()).unwrap();
    assert!(required.is_subset(&found), "{schema:#}: {answer:#}");
    assert!(found.is_subset(&known), "{schema:#}: {answer:#}");
}

#[test]
fn what_is_answered_has_the_fields_that_are_described() {
    let node = Serve::start(&["--shards", "1"]);
    let rule = "[[rule]]\nid = \"a\"\nkey = [\"client\"]\nalgorithm = \"leaky_bucket\"\nlimit = 9\nwindow = \"1h\"\n";
    let document = document(&node);
    let at = |name: &str| format!("/components/schemas/{name}");
    check(&document, &at("Published"), &node.push(rule).json());
    check(&document, &at("History"), &node.ask("GET", "/v1/rules/history", &[], "").json());
    let post = |path: &str, body: Value| node.ask("POST", path, &[], &body.to_string()).json();
    let verdict = post("/v1/check", json!({ "client": "c", "reserve": { "id": "x", "ttl_ms": 60_000 } }));
    check(&document, &at("Verdict"), &verdict);
    check(&document, &(at("Verdict") + "/properties/checks/items"), &verdict["checks"][0]);
    let settlement = post("/v1/settle", json!({ "client": "c", "id": "x", "actual": 2 }));
    check(&document, &at("Settlement"), &settlement);
    check(&document, &(at("Settlement") + "/properties/checks/items"), &settlement["checks"][0]);
    let event = json!({ "key": "k", "algorithm": "leaky_bucket", "limit": 9, "period_us": 9_000_000, "force": true });
    check(&document, &(at("EventAnswer") + "/oneOf/0"), &post("/v1/limit", event));
    let held = node.ask("GET", "/v1/keys/k", &[], "").json();
    check(&document, &at("Held"), &held);
    check(&document, &(at("Held") + "/properties/budgets/items"), &held["budgets"][0]);
    let cluster = node.ask("GET", "/v1/cluster", &[], "").json();
    check(&document, &at("Cluster"), &cluster);
    check(&document, &(at("Cluster") + "/properties/members/items"), &cluster["members"][0]);
    assert_eq!(cluster["members"][0]["native"], node.native.to_string());
    assert!(!cluster.to_string().contains("seed"), "what places keys is for gateways alone");
    check(&document, &at("Problem"), &post("/v1/check", json!({ "cost": -1 })));
    check(&document, &at("Reset"), &node.ask("DELETE", "/v1/keys/k", &[], "").json());
}

#[test]
fn every_field_that_is_described_may_be_asked_with() {
    let node = Serve::start(&["--shards", "1"]);
    let question = json!({
        "client": "c", "tenant": "t", "tier": "free", "ip": "2001:db8::1", "method": "GET", "path": "/",
        "headers": { "x": "y" }, "attributes": { "x": "y" }, "priority": "p", "cost": 1,
        "reserve": { "id": "x", "ttl_ms": 1 }, "id": "x", "actual": 1,
    });
    let document = document(&node);
    let described = document.pointer("/components/schemas/Correction/properties").unwrap().as_object().unwrap();
    assert!(described.keys().eq(question.as_object().unwrap().keys()), "{described:?}");
    let settled = node.ask("POST", "/v1/settle", &[], &question.to_string());
    assert_eq!(settled.code, 200, "{}", settled.body);
}
