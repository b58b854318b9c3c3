//! Which rule wins, by example and beside the oracle.

use proptest::prelude::*;
use tallyring_protocol::rules::{Document, RuleSet, Subject};

use crate::generate::{self, Request};
use crate::{from, oracle, rules, winners};

/// Rules of one group, each one line of `match = …`; the names are their numbers.
fn group(matches: &[&str]) -> RuleSet {
    let rule = |(at, matches): (usize, &&str)| {
        format!("[[rule]]\nid = \"{at}\"\nmatch = {{ {matches} }}\nalgorithm = \"gcra\"\nlimit = 1\nwindow = \"1s\"\n")
    };
    rules(&matches.iter().enumerate().map(rule).collect::<String>())
}

/// The rules, from the most specific to the least; all match the request.
fn check_order(subject: &Subject<'_>, matches: &[&str]) {
    for first in 0..matches.len() {
        // Backwards, so that the order of the document does not help.
        let rest: Vec<&str> = matches[first..].iter().rev().copied().collect();
        assert_eq!(winners(&group(&rest), subject), (rest.len() - 1).to_string(), "{}", matches[first]);
    }
}

#[test]
fn the_most_specific_rule_of_a_group_wins() {
    let subject = Subject { client: Some("c"), tenant: Some("t"), tier: Some("x"), ..from("10.0.0.1", "GET", "/a/b") };
    check_order(
        &subject,
        &[
            "client = \"c\", route = \"GET /a/b\"",
            "client = \"c\", ip = \"10.0.0.1\"",
            "client = \"c\"",
            "tenant = \"t\", route = \"/a/b\"",
            "tenant = \"t\", tier = \"x\"",
            "tenant = \"t\"",
            "tier = \"x\", route = \"/a/*\"",
            "tier = \"x\"",
            "route = \"GET /a/b\"",
            "route = \"/a/b\", ip = \"10.0.0.1\"",
            "route = \"/a/b\"",
            "route = \"GET /{x}/b\"",
            "route = \"/a/{x}\"",
            "route = \"GET /a/b/*\"",
            "route = \"/a/b/*\"",
            "route = \"/a/*\"",
            "route = \"GET /*\"",
            "route = \"/*\"",
            "ip = \"10.0.0.0/8\"",
            "",
        ],
    );
}

#[test]
fn a_higher_rank_wins_among_equals() {
    let text = r#"
[[rule]]
id = "low"
match = { ip = "10.0.0.0/8" }
algorithm = "gcra"
limit = 1
window = "1s"
[[rule]]
id = "high"
rank = 1
match = { ip = "10.0.0.0/16" }
algorithm = "gcra"
limit = 1
window = "1s"
"#;
    assert_eq!(winners(&rules(text), &from("10.0.0.1", "GET", "/")), "high");
    assert_eq!(winners(&rules(text), &from("10.1.0.1", "GET", "/")), "low");
}

const GROUPS: &str = r#"
[[rule]]
id = "per-ip"
group = "ip"
key = ["ip"]
algorithm = "token_bucket"
limit = 300
window = "60s"

[[rule]]
id = "per-client"
key = ["client"]
algorithm = "sliding_counter"
limit = 100
window = "1m"

[[rule]]
id = "health"
match = { route = "GET /healthz" }
action = "allow"

[[rule]]
id = "banned"
group = "ip"
match = { ip = "192.0.2.0/24" }
action = "block"

[[rule]]
id = "stricter"
mode = "shadow"
match = { route = "POST /v1/charges" }
key = ["client"]
algorithm = "sliding_counter"
limit = 10
window = "1m"
"#;

#[test]
fn every_group_has_its_own_winner() {
    let rules = rules(GROUPS);
    let check = |subject: Subject<'_>, expect: &str| assert_eq!(winners(&rules, &subject), expect, "{subject:?}");
    check(Subject { client: Some("c"), ..from("10.0.0.1", "GET", "/") }, "per-ip per-client");
    check(from("10.0.0.1", "GET", "/"), "per-ip");
    check(Subject::new("GET", "/"), "");
    check(Subject { client: Some("c"), ..from("10.0.0.1", "GET", "/healthz") }, "per-ip");
    check(Subject { client: Some("c"), ..from("192.0.2.7", "GET", "/") }, "per-client banned");
}

#[test]
fn a_shadow_rule_never_switches_an_enforced_one_off() {
    let subject = Subject { client: Some("c"), ..from("10.0.0.1", "POST", "/v1/charges") };
    assert_eq!(winners(&rules(GROUPS), &subject), "per-ip per-client|stricter");
}

#[test]
fn the_kill_switch_makes_every_rule_a_shadow() {
    let rules = rules(&format!("[defaults]\nenforce = false\n{GROUPS}"));
    let subject = Subject { client: Some("c"), ..from("192.0.2.7", "POST", "/v1/charges") };
    assert_eq!(winners(&rules, &subject), "|per-client banned stricter");
}

/// The kind of http-ip-07: nobody's key is no key.
#[test]
fn a_request_that_lacks_a_part_of_the_key_is_left_alone_or_counted_by_address() {
    let rule = |missing: &str| {
        rules(&format!(
            "[[rule]]\nid = \"k\"\nkey = [\"header:X-Api-Key\"]\n{missing}\nalgorithm = \"fixed_window\"\nlimit = 2\nwindow = \"1m\"\n"
        ))
    };
    let keyed = [("x-api-key", "k1")];
    let empty = [("x-api-key", "")];
    let (left_alone, by_address) = (rule(""), rule("missing = \"ip\""));
    for headers in [&() as &dyn tallyring_protocol::rules::Lookup, &empty] {
        let subject = Subject { headers, ..from("192.0.2.1", "GET", "/") };
        assert_eq!(winners(&left_alone, &subject), "");
        assert_eq!(winners(&by_address, &subject), "k");
        assert_eq!(winners(&by_address, &Subject { ip: None, ..subject }), "");
    }
    let subject = Subject { headers: &keyed, ..from("192.0.2.1", "GET", "/") };
    assert_eq!(winners(&left_alone, &subject), "k");
}

#[test]
fn a_rule_whose_key_cannot_be_built_leaves_its_group_to_the_next() {
    let rules = rules(
        r#"
[[rule]]
id = "general"
key = ["ip"]
algorithm = "gcra"
limit = 1
window = "1s"
[[rule]]
id = "special"
match = { route = "/a" }
key = ["client"]
algorithm = "gcra"
limit = 1
window = "1s"
"#,
    );
    assert_eq!(winners(&rules, &from("10.0.0.1", "GET", "/a")), "general");
    assert_eq!(winners(&rules, &Subject { client: Some("c"), ..from("10.0.0.1", "GET", "/a") }), "special");
}

/// Rules-match-02: a rule for one level is not for two.
#[test]
fn a_pattern_is_for_its_whole_depth() {
    let rules = group(&["route = \"/key/value\""]);
    assert_eq!(winners(&rules, &Subject::new("GET", "/key/value/subkey/subvalue")), "");
    assert_eq!(winners(&rules, &Subject::new("GET", "/key/value")), "0");
}

/// The document without rules that tie, so that it can be compiled.
fn untied(document: Document) -> Document {
    let mut rules: Vec<_> = Vec::new();
    for rule in document.rule {
        if !rules.iter().any(|other| oracle::tie(&rule, other)) {
            rules.push(rule);
        }
    }
    Document { rule: rules, ..document }
}

fn check_oracle(document: &Document, requests: &[Request]) {
    let rules = RuleSet::compile(document.clone()).expect("no rules tie");
    for request in requests {
        let resolution = rules.resolve(&request.subject());
        let ids = |winners: &[tallyring_protocol::rules::Winner<'_>]| {
            winners.iter().map(|winner| winner.rule.id().to_owned()).collect::<Vec<_>>()
        };
        let found = (ids(&resolution.enforced), ids(&resolution.shadow));
        assert_eq!(found, oracle::winners(document, &request.subject()), "{request:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_finds_what_a_look_at_every_rule_finds(
        document in generate::document(0..30).prop_map(untied),
        requests in prop::collection::vec(generate::request(), 20),
    ) {
        check_oracle(&document, &requests);
    }

    /// Specificity decides always, given rank: what compiles has one winner a group, whatever the order of the document.
    #[test]
    fn the_order_of_the_document_decides_nothing(
        document in generate::document(0..20),
        requests in prop::collection::vec(generate::request(), 10),
    ) {
        let reversed = Document { rule: document.rule.iter().rev().cloned().collect(), ..document.clone() };
        let (one, other) = (RuleSet::compile(document), RuleSet::compile(reversed));
        prop_assert_eq!(one.is_ok(), other.is_ok());
        let (Ok(one), Ok(other)) = (one, other) else { return Ok(()) };
        let sorted = |rules: &RuleSet, request: &Request| {
            let resolution = rules.resolve(&request.subject());
            let ids = resolution.enforced.iter().chain(&resolution.shadow).map(|winner| winner.rule.id().to_owned());
            let mut ids: Vec<String> = ids.collect();
            ids.sort();
            ids
        };
        for request in &requests {
            prop_assert_eq!(sorted(&one, request), sorted(&other, request));
        }
    }
}
