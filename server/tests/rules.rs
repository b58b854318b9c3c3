//! Live rules as operators and gateways meet them: a node in a process of its own, HTTP and the native protocol.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;

use std::path::Path;
use std::process::Output;

use common::{ANY_PORTS, Got, Native, Serve, command, hash_of};
use tallyring_protocol::bounds::RULES_BYTES_MAX;
use tallyring_protocol::{AlgorithmCode, Define, LocalCounts, PeriodCode, Report, Request};

fn rule(id: &str, limit: u64) -> String {
    format!(
        "[[rule]]\nid = \"{id}\"\nkey = [\"client\"]\nalgorithm = \"fixed_window\"\nlimit = {limit}\nwindow = \"60s\"\n"
    )
}

fn tiered(id: &str, tier: &str, limit: u64) -> String {
    format!("{}match = {{ tier = \"{tier}\" }}\n", rule(id, limit))
}

fn in_folder(folder: &Path, args: &[&str]) -> Serve {
    Serve::start(&[&["--shards", "1", "--data", folder.to_str().unwrap()], args].concat())
}

#[test]
fn a_push_reaches_every_connection_at_once() {
    let node = Serve::start(&["--shards", "2"]);
    let mut connections: Vec<Native> = (0..4).map(|shard| Native::connect(node.native, shard, "")).collect();
    for native in &mut connections {
        native.welcome();
        assert_eq!(native.announced().version, 0, "nobody has published anything");
        assert_eq!(native.rules().1, "{}");
    }
    for n in 1..=3 {
        let pushed = node.push(&rule("a", n));
        assert_eq!((pushed.code, pushed.version()), (200, n), "{}", pushed.body);
        for native in &mut connections {
            let announced = native.announced();
            assert_eq!(announced.version, n);
            let (version, json) = native.rules();
            assert_eq!(version, announced);
            assert!(json.contains(&format!("\"limit\":{n},")), "{json}");
        }
    }
    let mut late = Native::connect(node.native, 0, "");
    late.welcome();
    assert_eq!(late.announced().version, 3);
}

#[test]
fn a_document_of_the_largest_size_reaches_a_gateway_whole() {
    let node = Serve::start(&["--shards", "1"]);
    let of_client =
        |n| format!("{}match = {{ client = \"{n:050}\" }}\n", rule(&format!("rule-{n:05}-{}", "x".repeat(90)), 1));
    let text: String = (0..10_000).map(of_client).collect();
    assert!(text.len() < RULES_BYTES_MAX);
    let pushed = node.push(&text);
    assert_eq!(pushed.code, 200, "{}", pushed.body);
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.announced();
    let (_, json) = native.rules();
    assert!(json.len() > 2 << 20, "{} bytes", json.len());
    assert!(json.ends_with("\"limit\":1,\"window\":\"60s\"}]}"), "{}", &json[json.len() - 100..]);
}

#[test]
fn who_asks_twice_at_once_for_the_document_is_told_to_wait() {
    let node = Serve::start(&["--shards", "1"]);
    node.push(&rule("a", 1));
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.announced();
    let mut both = Vec::new();
    Request::GetRules.encode(1, &mut both);
    Request::GetRules.encode(2, &mut both);
    std::io::Write::write_all(&mut native.stream, &both).unwrap();
    let mut answers = [native.reply(), native.reply()];
    answers.sort_by_key(|(id, _)| *id);
    let [(1, Got::Other(rules)), (2, Got::Other(overloaded))] = answers else { panic!("{answers:?}") };
    assert!(rules.starts_with("Rules("), "{rules}");
    assert_eq!(overloaded, "Overloaded");
}

#[test]
fn a_reader_gets_the_authors_text_and_need_not_get_it_twice() {
    let node = Serve::start(&["--shards", "1"]);
    let empty = node.ask("GET", "/v1/rules", &[], "");
    assert_eq!((empty.code, &*empty.body, empty.header("etag")), (200, "", Some("\"0-0\"")));
    let text = format!("# for everybody\n{}", rule("a", 1));
    let etag = node.push(&text).header("etag").unwrap().to_owned();
    let read = node.ask("GET", "/v1/rules", &[], "");
    assert_eq!((read.code, &*read.body), (200, &*text));
    assert_eq!((read.header("etag"), read.header("content-type")), (Some(&*etag), Some("application/toml")));
    let json = node.ask("GET", "/v1/rules", &[("Accept", "application/json")], "");
    assert_eq!(json.json()["rule"][0]["id"], "a");
    let known = node.ask("GET", "/v1/rules", &[("If-None-Match", &etag)], "");
    assert_eq!((known.code, &*known.body), (304, ""));
    assert_eq!(node.ask("GET", "/v1/rules", &[("Accept", "text/html")], "").code, 406);
}

#[test]
fn a_push_says_what_it_is_over() {
    let node = Serve::start(&["--shards", "1"]);
    let put = |tag: Option<&str>, limit| {
        let headers: Vec<(&str, &str)> = tag.map(|tag| ("If-Match", tag)).into_iter().collect();
        node.ask("PUT", "/v1/rules", &headers, &rule("a", limit))
    };
    assert_eq!(put(None, 1).code, 428);
    let first = put(Some("\"0-0\""), 1);
    assert_eq!((first.code, first.version()), (200, 1));
    let stale = put(Some("\"0-0\""), 2);
    assert_eq!((stale.code, stale.header("etag")), (412, first.header("etag")));
    assert_eq!(stale.header("content-type"), Some("application/problem+json"));
    assert_eq!(stale.json()["detail"], "version 1 is live");
    assert_eq!(put(first.header("etag"), 2).version(), 2);
    assert_eq!(put(Some("\"2\""), 3).version(), 3, "a bare number is a version of this history");
    assert_eq!(put(Some("*"), 3).json()["changed"], false, "the same text again");
}

#[test]
fn of_two_pushers_over_the_same_version_one_wins() {
    let node = Serve::start(&["--shards", "1"]);
    node.push(&rule("a", 1));
    for round in 1..=20 {
        let etag = node.ask("GET", "/v1/rules", &[], "").header("etag").unwrap().to_owned();
        let codes: Vec<u16> = std::thread::scope(|scope| {
            let push = |limit| {
                let (node, etag) = (&node, &etag);
                scope.spawn(move || node.ask("PUT", "/v1/rules", &[("If-Match", etag)], &rule("a", limit)).code)
            };
            let pushers = [push(1_000 + round), push(2_000 + round)];
            pushers.into_iter().map(|pusher| pusher.join().unwrap()).collect()
        });
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [200, 412]);
        let winner = if codes[0] == 200 { 1_000 + round } else { 2_000 + round };
        assert_eq!(node.get("/v1/rules").1, rule("a", winner));
    }
    assert_eq!(node.ask("GET", "/v1/rules/history", &[], "").json()["live"], 21);
}

#[test]
fn a_bad_document_changes_nothing_and_every_fault_has_its_line() {
    let node = Serve::start(&["--shards", "1"]);
    node.push(&rule("good", 7));
    let check = |text: &str, line: u64, path: &str| {
        let refused = node.push(text);
        assert_eq!((refused.code, refused.header("content-type")), (400, Some("application/problem+json")), "{text}");
        let problem = refused.json();
        assert_eq!(problem["type"], "urn:tallyring:problem:invalid-rules");
        let errors = problem["errors"].as_array().unwrap();
        let found = errors.iter().any(|error| error["line"] == line && error["path"] == path);
        assert!(found, "{line} {path} is not in {problem:#}");
        assert_eq!(node.get("/v1/rules").1, rule("good", 7));
    };
    check("[[rule]\n", 1, "document");
    check("{\"rule\": [\n}", 2, "document");
    check("{\"rule\": 3}", 1, "rule");
    check(&format!("{}unlimied = true\n", rule("a", 1)), 7, "rule[0].unlimied");
    check(&rule("a", 0), 5, "rule[0].limit");
    check(&rule("a", 1).replace("60s", "500d"), 6, "rule[0].window");
    check(&format!("{}burst = 5\n", rule("a", 1)), 7, "rule[0].burst");
    check(&rule("a", 1).replace("client", "teir"), 3, "rule[0].key[0]");
    check(&rule("a", 1).replace("fixed_window", "leaky"), 4, "rule[0].algorithm");
    check(&format!("{}mode = \"hard\"\ndurability = \"async\"\n", rule("a", 1)), 8, "rule[0].durability");
    let history = node.ask("GET", "/v1/rules/history", &[], "").json();
    assert_eq!(history["live"], 1, "no failed push is in the history");
}

#[test]
fn what_is_no_document_at_all_is_refused_before_it_is_read() {
    let node = Serve::start(&["--shards", "1"]);
    let put = |content_type, body: &str| {
        node.ask("PUT", "/v1/rules", &[("If-Match", "*"), ("Content-Type", content_type)], body).code
    };
    assert_eq!(put("application/xml", "<rules/>"), 415);
    assert_eq!(put("application/json", &rule("a", 1)), 400);
    assert_eq!(put("application/toml", "{}"), 400);
    assert_eq!(put("application/toml; charset=utf-8", &rule("a", 1)), 200);
    assert_eq!(put("application/toml", &" ".repeat(RULES_BYTES_MAX + 1)), 413);
    assert_eq!(node.ask("PUT", "/v1/rules?coment=x", &[("If-Match", "*")], &rule("a", 2)).code, 400);
    assert_eq!(node.ask("POST", "/v1/rules", &[], "").code, 405);
    assert_eq!(node.get("/v1/nowhere").0, 404);
}

#[test]
fn a_restart_keeps_the_version_the_text_and_the_history() {
    let dir = tempfile::tempdir().unwrap();
    let before = in_folder(dir.path(), &[]);
    let push = |node: &Serve, limit, comment| {
        let path = format!("/v1/rules?author=alice&comment={comment}");
        node.ask("PUT", &path, &[("If-Match", "*")], &rule("a", limit)).version()
    };
    assert_eq!((push(&before, 1, "first"), push(&before, 2, "more%20for%20a")), (1, 2));
    let (etag, history) = (etag(&before), before.get("/v1/rules/history").1);
    drop(before); // killed, not drained
    let after = in_folder(dir.path(), &[]);
    assert_eq!((self::etag(&after), after.get("/v1/rules/history").1), (etag, history));
    assert_eq!(after.get("/v1/rules").1, rule("a", 2));
    assert_eq!(after.get("/v1/rules/history/1").1, rule("a", 1));
    assert_eq!(after.get("/v1/rules/history/3").0, 404);
    let versions = after.ask("GET", "/v1/rules/history", &[], "").json()["versions"].clone();
    assert_eq!((&versions[0]["version"], &versions[0]["comment"]), (&2.into(), &"more for a".into()));
    assert_eq!(versions[1]["author"], "alice (127.0.0.1)");
    assert_eq!(push(&after, 3, ""), 3);
}

fn etag(node: &Serve) -> String {
    node.ask("GET", "/v1/rules", &[], "").header("etag").unwrap().to_owned()
}

#[test]
fn a_node_that_is_killed_while_it_is_pushed_to_loses_no_acknowledged_version() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for round in 0..5_u64 {
        let mut node = in_folder(dir.path(), &[]);
        let live = node.ask("GET", "/v1/rules/history", &[], "").json()["live"].as_u64().unwrap();
        assert!(live == acknowledged || live == acknowledged + 1, "{live} after {acknowledged} was acknowledged");
        assert_eq!(node.get("/v1/rules").1, if live == 0 { String::new() } else { rule("a", live) });
        let pid = rustix::process::Pid::from_child(&node.child);
        acknowledged = live;
        std::thread::scope(|scope| {
            let pushes = 10 + 7 * round;
            let (send, receive) = std::sync::mpsc::channel::<u64>();
            scope.spawn(move || {
                // Killed while the next push is on its way.
                while receive.recv().is_ok_and(|pushed| pushed < pushes / 2) {}
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            });
            for pushed in 0..pushes {
                let next = rule("a", acknowledged + 1);
                let Ok(response) = node.try_ask("PUT", "/v1/rules", &[("If-Match", "*")], &next) else { break };
                assert_eq!(response.version(), acknowledged + 1, "{}", response.body);
                acknowledged += 1;
                let _ = send.send(pushed);
            }
            drop(send);
        });
        node.wait();
    }
}

/// What `serve` says on free ports with arguments that it refuses.
fn start_in_vain(args: &[&str]) -> Output {
    command().arg("serve").args(ANY_PORTS).args(args).output().unwrap()
}

#[test]
fn a_folder_that_is_damaged_or_taken_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let node = in_folder(dir.path(), &[]);
    node.push(&rule("a", 1));
    let refusal = || {
        let folder = dir.path().to_str().unwrap();
        let output = start_in_vain(&["--data", folder]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap().replace(folder, "D")
    };
    assert_eq!(refusal(), "tallyring: data: D: another node uses it\n");
    drop(node);
    let file = dir.path().join("control.redb");
    let whole = std::fs::read(&file).unwrap();
    for damaged in [b"no database".to_vec(), whole[..whole.len() / 2].to_vec()] {
        std::fs::write(&file, damaged).unwrap();
        let said = refusal();
        assert!(said.starts_with("tallyring: D/control.redb: is damaged ("), "{said}");
        assert!(said.ends_with("): restore it from a backup, or move it away and let the node join again\n"), "{said}");
    }
    std::fs::write(&file, whole).unwrap();
    let again = in_folder(dir.path(), &[]);
    assert!(again.get("/v1/rules").1.contains("limit = 1"), "the file is as it was");
}

#[test]
fn rules_given_at_the_start_are_published_unless_they_are_live() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rules.toml");
    std::fs::write(&file, rule("a", 1)).unwrap();
    let (data, path) = (dir.path().join("data"), file.to_str().unwrap());
    let live = |node: &Serve| node.ask("GET", "/v1/rules/history", &[], "").json()["live"].as_u64().unwrap();
    assert_eq!(live(&in_folder(&data, &["--rules", path])), 1);
    assert_eq!(live(&in_folder(&data, &["--rules", path])), 1);
    std::fs::write(&file, rule("a", 2)).unwrap();
    assert_eq!(live(&in_folder(&data, &["--rules", path])), 2);
    std::fs::write(&file, format!("{}burst = 3\nlimt = 4\n", rule("a", 2))).unwrap();
    let output = start_in_vain(&["--rules", path]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("tallyring: {path}:7: rule[0].burst: ")), "{said}");
    assert!(said.contains(&format!("\n{path}:8: rule[0].limt: unknown field")), "{said}");
}

#[test]
fn the_rules_of_a_tier_are_read_and_replaced_alone() {
    let node = Serve::start(&["--shards", "1"]);
    node.push(&(tiered("f", "free", 1) + &tiered("p", "pro", 9)));
    let free = node.ask("GET", "/v1/limits/free", &[("Accept", "application/json")], "");
    assert_eq!(free.json()["rule"][0]["id"], "f");
    assert_eq!(free.json()["rule"].as_array().unwrap().len(), 1);
    let put = |etag: &str, body: &str| node.ask("PUT", "/v1/limits/free", &[("If-Match", etag)], body);
    assert_eq!(put("\"0-0\"", &tiered("f", "free", 2)).code, 412);
    let refused = put(free.header("etag").unwrap(), &tiered("f", "pro", 2));
    assert_eq!((refused.code, &refused.json()["errors"][0]["path"]), (400, &"rule[0].match.tier".into()));
    let replaced = put(free.header("etag").unwrap(), &tiered("f", "free", 2));
    assert_eq!((replaced.code, replaced.version()), (200, 2), "{}", replaced.body);
    let whole = node.ask("GET", "/v1/rules", &[("Accept", "application/json")], "").json();
    let limits: Vec<u64> = whole["rule"].as_array().unwrap().iter().map(|r| r["limit"].as_u64().unwrap()).collect();
    assert_eq!(limits, [2, 9]);
    assert_eq!(node.ask("GET", "/v1/limits/nobody", &[("Accept", "application/json")], "").body, "{}\n");
}

#[test]
fn a_key_gets_its_budget_back() {
    let node = Serve::start(&["--shards", "2"]);
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.define_bucket(1, 3_600_000_000, 1);
    native.reply();
    for key in ["{acct_7}:a/b", "käse", "k"] {
        let allowed = |native: &mut Native| {
            native.check(key, 1);
            matches!(native.reply().1, Got::Decision { allowed: true, .. })
        };
        assert!(allowed(&mut native) && !allowed(&mut native));
        let path = format!("/v1/keys/{}", key.replace('{', "%7B").replace('}', "%7D").replace("ä", "%C3%A4"));
        assert_eq!(node.ask("DELETE", &path, &[], "").json()["found"], true);
        assert!(allowed(&mut native), "{key}");
    }
    assert_eq!(node.ask("DELETE", "/v1/keys/nobody", &[], "").json()["found"], false);
    assert_eq!(node.ask("DELETE", &format!("/v1/keys/{}", "k".repeat(513)), &[], "").code, 400);
}

#[test]
fn a_token_reads_and_an_admins_writes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tokens.toml");
    std::fs::write(&path, format!("client = [\"{}\"]\nadmin = [\"{}\"]\n", hash_of("gateway"), hash_of("operator")))
        .unwrap();
    let node = Serve::start(&["--token-file", path.to_str().unwrap()]);
    let code = |method, path, token: &str| {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("If-Match", "*")];
        if !token.is_empty() {
            headers.push(("Authorization", &*bearer));
        }
        node.ask(method, path, &headers, &rule("a", 1)).code
    };
    for (method, path, [nobody, stranger, gateway, operator]) in [
        ("GET", "/v1/rules", [401, 401, 200, 200]),
        ("PUT", "/v1/rules", [401, 401, 403, 200]),
        ("GET", "/v1/rules/history", [401, 401, 200, 200]),
        ("GET", "/v1/limits/free", [401, 401, 200, 200]),
        ("PUT", "/v1/limits/free", [401, 401, 403, 400]),
        ("DELETE", "/v1/keys/k", [401, 401, 403, 200]),
        ("GET", "/livez", [200, 200, 200, 200]),
    ] {
        let codes = ["", "guess", "gateway", "operator"].map(|token| code(method, path, token));
        assert_eq!(codes, [nobody, stranger, gateway, operator], "{method} {path}");
    }
}

#[test]
fn without_tokens_the_node_answers_to_its_own_names_alone() {
    let node = Serve::start(&["--shards", "1"]);
    let code = |host| node.ask("GET", "/v1/rules", &[("Host", host)], "").code;
    assert_eq!((code("127.0.0.1:4171"), code("localhost"), code("rebound.example")), (200, 200, 421));
}

/// The answer to one check of each of these keys, under a rule that may hold `keys_max` of them.
fn check_keys(node: &Serve, keys_max: u64, shadow: bool, keys: &[&str]) -> Vec<Got> {
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    let define = Define {
        handle: 0,
        algorithm: AlgorithmCode::FixedWindow,
        limit: 1,
        period: PeriodCode::Month,
        burst: 0,
        shadow,
        sync: false,
        rule_version: 1,
        keys_max,
        rule: "sprayed",
    };
    native.send(&Request::Define(define));
    native.reply();
    let ask = |key: &&str| {
        native.check(key, 1);
        native.reply().1
    };
    keys.iter().map(ask).collect()
}

#[test]
fn a_rule_holds_as_many_keys_as_it_may_and_no_more() {
    let node = Serve::start(&["--shards", "1"]);
    let allowed = |got: &Got| matches!(got, Got::Decision { allowed: true, .. });
    let first = check_keys(&node, 2, false, &["a", "b", "c", "a"]);
    assert!(allowed(&first[0]) && allowed(&first[1]), "{first:?}");
    assert_eq!(first[2], Got::Other("Full".into()), "two keys are all that the rule may hold");
    assert!(matches!(first[3], Got::Decision { allowed: false, .. }), "a key that it holds is decided: {first:?}");
    let later = check_keys(&node, 3, false, &["c", "d"]);
    assert!(allowed(&later[0]) && later[1] == Got::Other("Full".into()), "the last define counts: {later:?}");
    assert!(allowed(&check_keys(&node, 0, false, &["d"])[0]), "0 is as many as any rule");
}

#[test]
fn a_rule_in_shadow_is_counted_apart() {
    let node = Serve::start(&["--shards", "1"]);
    check_keys(&node, 0, true, &["a", "a", "a"]);
    check_keys(&node, 0, false, &["b", "b"]);
    let (_, metrics) = node.get("/metrics");
    for (outcome, count) in [("allowed", 1), ("denied", 1), ("shadow_allowed", 1), ("shadow_denied", 2)] {
        let line = format!("tallyring_decisions_total{{rule=\"sprayed\",outcome=\"{outcome}\"}} {count}\n");
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
}

#[test]
fn a_gateway_that_does_not_read_the_document_keeps_nobody_waiting() {
    let node = Serve::start(&["--shards", "1"]);
    let of_client = |n| format!("{}match = {{ client = \"{n:0100}\" }}\n", rule(&format!("rule-{n:0100}"), 1));
    assert_eq!(node.push(&(0..10_000).map(of_client).collect::<String>()).code, 200);
    let mut idle: Vec<Native> = (0..8).map(|_| Native::connect(node.native, 0, "")).collect();
    for native in &mut idle {
        native.welcome();
        native.send(&Request::GetRules);
    }
    let mut busy = Native::connect(node.native, 0, "");
    busy.welcome();
    let before = node.resident_kib();
    for n in 0..50 {
        assert_eq!(node.push(&rule("small", n + 1)).code, 200);
        while busy.announced().version < n + 2 {}
    }
    let grown = node.resident_kib().saturating_sub(before);
    assert!(grown < 16 * 1_024, "{grown} KiB more: a document is held for each connection that does not read it");
}

#[test]
fn what_gateways_decide_by_themselves_is_in_the_metrics() {
    let node = Serve::start(&["--shards", "2"]);
    node.push(&rule("a", 1));
    for shard in 0..2 {
        let mut native = Native::connect(node.native, shard, "");
        native.welcome();
        let counts = LocalCounts { deny_cache: 5, fallback_allowed: 2, grant_excess: 3, ..LocalCounts::default() };
        for shadow in [false, true] {
            native.send(&Request::Report(Report { rule: "a", shadow, counts }));
            assert_eq!(native.reply().1, Got::Other("Reported".into()));
        }
    }
    let (_, metrics) = node.get("/metrics");
    for line in [
        "tallyring_decisions_total{rule=\"a\",outcome=\"deny_cache\"} 10",
        "tallyring_decisions_total{rule=\"a\",outcome=\"fallback_allowed\"} 4",
        "tallyring_decisions_total{rule=\"a\",outcome=\"shadow_deny_cache\"} 10",
        "tallyring_grant_excess_units_total{rule=\"a\"} 12",
        "tallyring_rules_version 1",
        "tallyring_rules 1",
    ] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{line} is not in\n{metrics}");
    }
}
