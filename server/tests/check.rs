//! Decisions over HTTP as a gateway in any language meets them: a node in a process of its own, JSON in and out.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;

use common::{Response, Serve};
use serde_json::{Value, json};

/// Many more than one shard: rules that count different identities live apart.
const SHARDS: &str = "8";

fn node(rules: &str) -> Serve {
    let node = Serve::start(&["--shards", SHARDS]);
    let pushed = node.push(rules);
    assert_eq!(pushed.code, 200, "{}", pushed.body);
    node
}

/// A rule of so many a day, so that no unit comes back while the test runs.
fn rule(id: &str, key: &str, limit: u64) -> String {
    format!(
        "[[rule]]\nid = \"{id}\"\ngroup = \"{id}\"\nkey = [\"{key}\"]\nalgorithm = \"fixed_window\"\nlimit = {limit}\nwindow = \"1d\"\n"
    )
}

fn post(node: &Serve, path: &str, body: &Value) -> Response {
    node.ask("POST", path, &[("Content-Type", "application/json")], &body.to_string())
}

fn decide(node: &Serve, question: &Value) -> Value {
    let response = post(node, "/v1/check", question);
    assert_eq!(response.code, 200, "{question}: {}", response.body);
    response.json()
}

/// What a rule has left for a request, which is asked without being charged.
fn left(node: &Serve, question: &Value, rule: &str) -> u64 {
    let mut look = question.clone();
    look["cost"] = json!(0);
    look.as_object_mut().unwrap().remove("reserve");
    let decision = decide(node, &look);
    let checks = decision["checks"].as_array().unwrap();
    checks.iter().find(|check| check["rule"] == rule).unwrap()["remaining"].as_u64().unwrap()
}

fn names(decision: &Value, only_denied: bool) -> Vec<&str> {
    let checks = decision["checks"].as_array().unwrap().iter();
    let checks = checks.filter(|check| !only_denied || check["allowed"] == false);
    checks.map(|check| check["rule"].as_str().unwrap()).collect()
}

#[test]
fn a_decision_says_who_speaks_what_is_left_and_what_to_tell_the_client() {
    let node = node(
        "[defaults]\nretry_jitter = 0\n\
         [[rule]]\nid = \"free-charges\"\ngroup = \"client\"\nmatch = { tier = \"free\", route = \"POST /v1/charges\" }\n\
         key = [\"client\"]\nalgorithm = \"token_bucket\"\nlimit = 1\nwindow = \"1h\"\n",
    );
    let question = json!({
        "client": "cust_42", "tier": "free", "ip": "203.0.113.9", "method": "POST", "path": "/v1/charges",
        "headers": {}, "attributes": {}, "priority": null, "cost": 1,
    });
    let allowed = decide(&node, &question);
    assert_eq!(
        [&allowed["allowed"], &allowed["rule"], &allowed["limit"], &allowed["remaining"], &allowed["retry_after_ms"]],
        [&json!(true), &json!("free-charges"), &json!(1), &json!(0), &json!(0)]
    );
    assert_eq!(
        [&allowed["level"], &allowed["source"], &allowed["version"]],
        [&json!("ok"), &json!("store"), &json!(1)]
    );
    assert_eq!(allowed["headers"]["RateLimit-Policy"], "\"free-charges\";q=1;w=3600");
    assert_eq!(allowed["headers"].get("Retry-After"), None);
    let denied = decide(&node, &question);
    let wait_ms = denied["retry_after_ms"].as_u64().unwrap();
    assert!((3_590_000..=3_600_000).contains(&wait_ms), "{denied}");
    assert_eq!([&denied["allowed"], &denied["level"]], [&json!(false), &json!("denied")]);
    assert_eq!(denied["headers"]["Retry-After"], wait_ms.div_ceil(1_000).to_string());
    assert_eq!(denied["headers"]["X-RateLimit-Remaining"], "0");
    let check = &denied["checks"][0];
    assert_eq!([&check["rule"], &check["group"]], [&json!("free-charges"), &json!("client")]);
}

#[test]
fn a_request_that_no_rule_is_for_passes_and_nobody_speaks() {
    let node = Serve::start(&["--shards", "1"]);
    let expect = json!({
        "allowed": true, "rule": null, "limit": null, "remaining": null, "retry_after_ms": 0, "reset_after_ms": 0,
        "level": "ok", "source": "store", "version": 0, "checks": [], "headers": {},
    });
    assert_eq!(decide(&node, &json!({})), expect);
    node.push(&format!("[defaults]\nenforce = false\n{}", rule("a", "client", 1)));
    for _ in 0..3 {
        let decision = decide(&node, &json!({ "client": "a" }));
        assert_eq!([&decision["allowed"], &decision["checks"]], [&json!(true), &json!([])], "the kill switch is on");
    }
}

#[test]
fn a_denial_tells_of_every_rule_that_applies_wherever_their_keys_live() {
    let forced = format!("{}priorities = {{ critical = \"always\" }}\n", rule("b", "client", 5));
    let slots = "[[rule]]\nid = \"c\"\ngroup = \"c\"\nkey = [\"tenant\"]\nalgorithm = \"concurrency\"\nlimit = 2\nwindow = \"60s\"\n";
    let node = node(&[rule("a", "ip", 1), forced, slots.to_owned()].concat());
    let question = |no| json!({ "client": format!("c{no}"), "tenant": format!("t{no}"), "ip": "10.0.0.9", "priority": "critical" });
    assert_eq!(decide(&node, &question(0))["allowed"], true);
    for no in 1..9 {
        let denied = decide(&node, &question(no));
        assert_eq!((names(&denied, true), names(&denied, false)), (vec!["a"], vec!["a", "b", "c"]), "{denied}");
        assert_eq!([left(&node, &question(no), "b"), left(&node, &question(no), "c")], [5, 2]);
    }
}

#[test]
fn rejected_by_one_rule_a_request_is_charged_by_none_wherever_their_keys_live() {
    let rules = [rule("a", "client", 3), rule("b", "tenant", 100), rule("c", "ip", 100), rule("d", "tier", 100)];
    let node = node(&rules.concat());
    for no in 0..8 {
        let question = json!({
            "client": format!("client-{no}"), "tenant": format!("tenant-{no}"), "ip": format!("10.0.0.{no}"),
            "tier": format!("tier-{no}"),
        });
        for _ in 0..3 {
            assert_eq!(decide(&node, &question)["allowed"], true);
        }
        for _ in 0..3 {
            let denied = decide(&node, &question);
            assert_eq!([&denied["allowed"], &denied["rule"]], [&json!(false), &json!("a")]);
            assert_eq!(names(&denied, true), ["a"]);
        }
        assert_eq!(["b", "c", "d"].map(|rule| left(&node, &question, rule)), [97, 97, 97]);
    }
}

#[test]
fn of_all_that_deny_the_longest_wait_speaks_and_never_is_the_longest() {
    let hour = rule("hour", "client", 1).replace("1d", "1h");
    let node = node(&[hour, rule("day", "tenant", 1), rule("two", "ip", 2)].concat());
    let question = json!({ "client": "c", "tenant": "t", "ip": "10.0.0.1" });
    let first = decide(&node, &question);
    assert_eq!((&first["rule"], names(&first, false)), (&json!("hour"), vec!["hour", "day", "two"]));
    let denied = decide(&node, &question);
    // At the end of the last hour of a day both wait for midnight, and the first in the document speaks.
    assert!(denied["rule"] == "day" || denied["checks"][0]["retry_after_ms"] == denied["checks"][1]["retry_after_ms"]);
    assert_eq!(names(&denied, true), ["hour", "day"]);
    let never = decide(&node, &json!({ "client": "c", "tenant": "t", "ip": "10.0.0.1", "cost": 3 }));
    assert_eq!([&never["retry_after_ms"], &never["allowed"]], [&Value::Null, &json!(false)]);
    assert_eq!(never["headers"].get("Retry-After"), None, "no wait helps");
}

#[test]
fn a_rule_in_shadow_counts_what_was_admitted_and_is_never_told() {
    let shadow = format!("{}mode = \"shadow\"\n", rule("tried", "client", 1));
    let node = node(&[rule("real", "tenant", 2), shadow].concat());
    let question = json!({ "client": "c", "tenant": "t" });
    for allowed in [true, true, false] {
        let decision = decide(&node, &question);
        assert_eq!((&decision["allowed"], names(&decision, false)), (&json!(allowed), vec!["real"]));
        assert!(!decision["headers"].to_string().contains("tried"));
    }
    let counted = |outcome: &str| {
        let metrics = node.get("/metrics").1;
        let lines = metrics.lines().filter(|line| line.contains("rule=\"tried\"") && line.contains(outcome));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    assert_eq!((counted("allowed"), counted("denied")), (1, 1), "the third was not admitted");
}

#[test]
fn levels_priorities_blocks_and_exceptions_are_those_of_the_document() {
    let soft = format!(
        "{}soft = \"0.5\"\npriorities = {{ critical = \"always\", sheddable = \"0.5\" }}\n",
        rule("a", "client", 4)
    );
    let node = node(
        &[
            soft,
            "[[rule]]\nid = \"closed\"\ngroup = \"gate\"\nmatch = { route = \"/admin/*\" }\naction = \"block\"\n"
                .into(),
            "[[rule]]\nid = \"open\"\ngroup = \"a\"\nmatch = { route = \"/healthz\" }\nrank = 1\naction = \"allow\"\n"
                .into(),
        ]
        .concat(),
    );
    let ask = |fields: Value| decide(&node, &fields);
    assert_eq!(ask(json!({ "client": "c" }))["level"], "ok");
    assert_eq!(ask(json!({ "client": "c" }))["level"], "soft");
    assert_eq!(ask(json!({ "client": "c", "priority": "sheddable" }))["allowed"], false);
    assert_eq!(ask(json!({ "client": "c", "cost": 2 }))["remaining"], 0);
    assert_eq!(ask(json!({ "client": "c", "priority": "nobody" }))["allowed"], false);
    assert_eq!(ask(json!({ "client": "c", "priority": "critical", "cost": 9 }))["allowed"], true);
    let blocked = ask(json!({ "client": "fresh", "path": "/admin/x" }));
    assert_eq!(
        [&blocked["allowed"], &blocked["rule"], &blocked["limit"]],
        [&json!(false), &json!("closed"), &json!(0)]
    );
    assert_eq!([&blocked["retry_after_ms"], &blocked["headers"]], [&Value::Null, &json!({})]);
    assert_eq!(left(&node, &json!({ "client": "fresh" }), "a"), 4, "what is blocked costs nothing");
}

#[test]
fn what_no_shard_knows_of_a_decision_is_in_the_metrics() {
    let soft = rule("near", "client", 4) + "soft = \"0.75\"\n";
    let node =
        node(&(soft + "[[rule]]\nid = \"closed\"\ngroup = \"b\"\nmatch = { tenant = \"t\" }\naction = \"block\"\n"));
    let levels: Vec<Value> = (0..6).map(|_| decide(&node, &json!({ "client": "c" }))["level"].clone()).collect();
    assert_eq!(levels, ["ok", "ok", "soft", "soft", "denied", "denied"]);
    assert_eq!(decide(&node, &json!({ "client": "other", "tenant": "t" }))["allowed"], false);
    let metrics = node.get("/metrics").1;
    for line in [
        "tallyring_soft_decisions_total{rule=\"near\"} 2",
        "tallyring_decisions_total{rule=\"near\",outcome=\"allowed\"} 4",
        "tallyring_decisions_total{rule=\"closed\",outcome=\"blocked\"} 1",
    ] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{line} is not in\n{metrics}");
    }
}

#[test]
fn a_reservation_is_made_once_under_every_rule_and_settled_once() {
    let node = node(&[rule("a", "client", 100), rule("b", "tenant", 100)].concat());
    let question = json!({
        "client": "c", "tenant": "t", "cost": 40, "reserve": { "id": "job-1", "ttl_ms": 60_000 },
    });
    let first = decide(&node, &question);
    assert_eq!([&first["allowed"], &first["remaining"]], [&json!(true), &json!(60)]);
    let again = decide(&node, &question);
    for field in ["allowed", "rule", "limit", "remaining", "checks"] {
        assert_eq!(again[field], first[field], "a retry is told the same");
    }
    let mut settle = question.clone();
    (settle["id"], settle["actual"]) = (json!("job-1"), json!(10));
    let settled = post(&node, "/v1/settle", &settle).json();
    assert_eq!(settled["settled"], true);
    let checks = settled["checks"].as_array().unwrap();
    assert_eq!(checks.iter().map(|check| check["remaining"].as_u64()).collect::<Vec<_>>(), [Some(90), Some(90)]);
    assert_eq!(post(&node, "/v1/settle", &settle).json()["settled"], false);
    let mut other = question.clone();
    (other["reserve"]["id"], other["cost"]) = (json!("job-2"), json!(95));
    assert_eq!(decide(&node, &other)["allowed"], false);
    assert_eq!(["a", "b"].map(|rule| left(&node, &question, rule)), [90, 90]);
}

#[test]
fn a_reservation_that_is_repeated_is_told_the_limit_that_it_was_charged_under() {
    let node = node(&rule("estimates", "client", 100));
    let question = json!({ "client": "c", "cost": 40, "reserve": { "id": "job-1", "ttl_ms": 60_000 } });
    let first = decide(&node, &question);
    assert_eq!(node.push(&rule("estimates", "client", 500)).code, 200);
    let again = decide(&node, &question);
    for field in ["allowed", "rule", "limit", "remaining"] {
        assert_eq!(again[field], first[field], "{field}");
    }
    assert_eq!((&again["checks"][0]["limit"], left(&node, &question, "estimates")), (&json!(100), 460));
}

#[test]
fn a_reservation_that_one_rule_denies_is_held_by_none() {
    let node = node(&[rule("a", "client", 100), rule("b", "tenant", 10)].concat());
    let question = json!({
        "client": "c", "tenant": "t", "cost": 40, "reserve": { "id": "job-1", "ttl_ms": 60_000 },
    });
    let denied = decide(&node, &question);
    assert_eq!((&denied["rule"], names(&denied, true)), (&json!("b"), vec!["b"]));
    assert_eq!(["a", "b"].map(|rule| left(&node, &question, rule)), [100, 10]);
}

#[test]
fn slots_are_held_under_the_reservation_until_it_is_settled() {
    let node = node(&rule("two-at-once", "client", 2).replace("fixed_window", "concurrency"));
    let question = |id: &str| json!({ "client": "c", "reserve": { "id": id, "ttl_ms": 60_000 } });
    let allowed = |id: &str| decide(&node, &question(id))["allowed"].as_bool().unwrap();
    assert_eq!(["x", "y", "z", "x"].map(allowed), [true, true, false, true], "x has its slot already");
    assert_eq!(left(&node, &json!({ "client": "c" }), "two-at-once"), 0);
    let settle = json!({ "client": "c", "id": "x", "actual": 1 });
    assert_eq!(post(&node, "/v1/settle", &settle).json()["checks"][0]["remaining"], 1);
    assert!(allowed("z"));
}

#[test]
fn a_key_that_memory_has_no_room_for_is_no_decision() {
    let full = format!("{}keys_max = 2\n", rule("few-keys", "client", 5));
    let node = Serve::start(&["--shards", "1"]);
    node.push(&[rule("all", "tenant", 5), full].concat());
    let question = |client: &str| json!({ "client": client, "tenant": "t" });
    assert_eq!(["a", "b"].map(|client| decide(&node, &question(client))["allowed"] == true), [true, true]);
    let refused = post(&node, "/v1/check", &question("c"));
    assert_eq!((refused.code, refused.header("content-type")), (503, Some("application/problem+json")));
    assert_eq!(refused.json()["type"], "urn:tallyring:problem:full");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(left(&node, &question("a"), "all"), 3, "what was not decided was not charged");
}

#[test]
fn a_pushed_rule_holds_for_the_next_decision_and_for_live_keys() {
    // ops-reload-02
    let node = node(&rule("a", "client", 10));
    let question = json!({ "client": "c" });
    (0..3).for_each(|_| assert_eq!(decide(&node, &question)["allowed"], true));
    node.push(&rule("a", "client", 20));
    let next = decide(&node, &question);
    assert_eq!([&next["allowed"], &next["limit"], &next["remaining"]], [&json!(true), &json!(20), &json!(16)]);
    assert_eq!(next["version"], 2);
}

#[test]
fn an_outsider_cannot_fill_somebody_elses_bucket_where_the_address_is_in_the_key() {
    // ops-tenant-01: who checks before authentication puts the address into the key, and is warned if not.
    let keyed = |key: &str| rule("install", "x", 10).replace("\"x\"", key);
    let naive = Serve::start(&["--shards", "1"]);
    let warnings = naive.push(&keyed("\"header:x-installation\"")).json()["warnings"].to_string();
    assert!(warnings.contains("rule[0].key"), "{warnings}");
    let node = node(&keyed("\"ip\", \"header:x-installation\""));
    let question = |ip: &str| json!({ "ip": ip, "headers": { "X-Installation": "victim" } });
    (0..10).for_each(|_| assert_eq!(decide(&node, &question("203.0.113.66"))["allowed"], true));
    assert_eq!(decide(&node, &question("203.0.113.66"))["allowed"], false);
    assert_eq!(decide(&node, &question("198.51.100.7"))["allowed"], true);
}
