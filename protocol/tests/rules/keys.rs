//! Keys are injective: whom a rule tells apart, its keys tell apart.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use tallyring_protocol::Key;
use tallyring_protocol::rules::{Document, RuleDoc, RuleSet, Subject};

use crate::{from, rules};

fn limit(id: &str, key: &[&str]) -> RuleDoc {
    RuleDoc {
        id: id.into(),
        group: Some(id.into()),
        key: Some(key.iter().map(|part| (*part).into()).collect()),
        algorithm: Some("fixed_window".into()),
        limit: Some(1),
        window: Some("1m".into()),
        ..RuleDoc::default()
    }
}

fn set(rule: Vec<RuleDoc>) -> RuleSet {
    RuleSet::compile(Document { rule, ..Document::default() }).expect("rules that are right")
}

/// The key of the only rule that applies.
fn key(rules: &RuleSet, subject: &Subject<'_>) -> Key {
    let winners = rules.resolve(subject).enforced;
    assert_eq!(winners.len(), 1);
    winners[0].key.clone()
}

fn distinct(keys: impl IntoIterator<Item = Key>) -> usize {
    keys.into_iter().map(|key| key.as_ref().block().to_vec()).collect::<BTreeSet<_>>().len()
}

/// Rules-key-01: pairs that look alike when they are joined with a colon.
#[test]
fn parts_that_look_alike_when_joined_are_apart() {
    let pair = |rule: &str, a: &str, b: &str| {
        let rules = set(vec![limit(rule, &["attr:a", "attr:b"])]);
        // An empty value would be none: the next letter stands for it.
        let attributes = [("a", a), ("b", b)];
        key(&rules, &Subject { attributes: &attributes, ..Subject::new("GET", "/") })
    };
    for [(rule_a, a, b), (rule_b, c, d)] in [
        [("r", "a:b", "c"), ("r", "a", "b:c")],
        [("r", "a", "b"), ("r:a", "b", "x")],
        [("r", "xx", "x"), ("r", "x", "xx")],
        [("r", "10.0.0.1", "/p"), ("r", "10.0.0.1/", "p")],
        [("r", "a|b", "c"), ("r", "a", "b|c")],
    ] {
        assert_eq!(distinct([pair(rule_a, a, b), pair(rule_b, c, d)]), 2, "{rule_a} {a} {b}: {rule_b} {c} {d}");
    }
}

/// Rules-key-03: keys are compared whole, however long.
#[test]
fn values_that_differ_in_their_last_byte_alone_are_apart() {
    let rules = set(vec![limit("r", &["client"])]);
    let clients = [255, 256, 257, 4_096].map(|len| ["A", "B"].map(|last| format!("{}{last}", "k".repeat(len - 1))));
    let keys = clients.as_flattened().iter().map(|client| {
        let key = key(&rules, &Subject { client: Some(client), ..Subject::new("GET", "/") });
        assert!(key.as_ref().rest().len() <= 512 && key.as_ref().tag().len() <= 256);
        key
    });
    assert_eq!(distinct(keys), 8);
}

/// Rules-key-05: two rules with equal numbers are two rules.
#[test]
fn rules_with_the_same_numbers_share_no_counter() {
    let rules = set(vec![limit("A", &["ip"]), limit("B", &["ip"])]);
    let resolution = rules.resolve(&from("192.0.2.1", "GET", "/get"));
    assert_eq!(distinct(resolution.enforced.iter().map(|winner| winner.key.clone())), 2);
    let other_numbers = set(vec![RuleDoc { limit: Some(9), ..limit("A", &["ip"]) }]);
    let before = &resolution.enforced[0].key;
    assert_eq!(&key(&other_numbers, &from("192.0.2.1", "GET", "/get")), before, "new numbers keep the counter");
}

/// Rules-match-04: whether the values behind a star share a counter is what the key says.
#[test]
fn what_a_star_stands_for_is_counted_together_or_apart_as_the_key_says() {
    let files = |key: &str| {
        rules(&format!(
            "[[rule]]\nid = \"f\"\nmatch.route = \"/files/*\"\nkey = [\"{key}\"]\nalgorithm = \"gcra\"\nlimit = 2\nwindow = \"1m\"\n"
        ))
    };
    let keys = |rules: &RuleSet| ["/files/a.pdf", "/files/b.pdf"].map(|path| key(rules, &Subject::new("GET", path)));
    assert_eq!(distinct(keys(&files("route"))), 1);
    assert_eq!(distinct(keys(&files("path"))), 2);
}

#[test]
fn an_address_in_the_place_of_a_missing_part_is_no_value_of_that_part() {
    let rules = set(vec![RuleDoc { missing: Some("ip".into()), ..limit("r", &["header:x-key"]) }]);
    let faked = [("x-key", "192.0.2.1")];
    let honest = from("192.0.2.1", "GET", "/");
    let keys = [key(&rules, &honest), key(&rules, &Subject { headers: &faked, ..honest })];
    assert_eq!(distinct(keys), 2);
}

#[test]
fn rules_of_one_identity_lie_together() {
    let rules = set(vec![limit("a", &["client"]), limit("b", &["route", "client"]), limit("c", &["ip", "client"])]
        .into_iter()
        .map(|mut rule| {
            rule.matches.route = Some("/x".into());
            rule
        })
        .collect());
    let resolution = rules.resolve(&Subject { client: Some("cust_42"), ..from("192.0.2.1", "GET", "/x") });
    assert_eq!(resolution.enforced.len(), 3);
    assert!(resolution.enforced.iter().all(|winner| winner.key.as_ref().tag() == b"cust_42"));
    assert_eq!(Key::raw(b"{cust_42}:anything").unwrap().as_ref().tag(), b"cust_42");
}

/// Two lists of texts, often alike: the same letters, cut elsewhere.
fn values() -> impl Strategy<Value = Vec<String>> {
    vec(prop_oneof!["[ab]{1,3}", "[a\u{0}\u{1}]{1,3}", "a{255,258}", "é{100,140}"], 3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_are_equal_only_if_all_their_parts_are(a in values(), b in values(), ids in ("[rs]{1,2}", "[rs]{1,2}")) {
        let parts = ["client", "attr:a", "header:h"];
        let key_of = |id: &str, values: &[String]| {
            let (attributes, headers) = ([("a", &*values[1])], [("h", &*values[2])]);
            let subject = Subject { client: Some(&values[0]), attributes: &attributes, headers: &headers, ..Subject::new("GET", "/") };
            key(&set(vec![limit(id, &parts)]), &subject)
        };
        let same = (&ids.0, &a) == (&ids.1, &b);
        prop_assert_eq!(key_of(&ids.0, &a) == key_of(&ids.1, &b), same);
    }
}
