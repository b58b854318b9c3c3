//! Rules that are right alone and wrong together: found exactly when some request says so.

use proptest::prelude::*;
use tallyring_protocol::rules::{Document, RuleDoc, RuleSet};

use crate::generate::{self, Request};
use crate::{faults, oracle};

const LIMIT: &str = "algorithm = \"gcra\"\nlimit = 1\nwindow = \"1s\"\n";

/// A rule of one line of `match`, and more.
fn rule(id: impl std::fmt::Display, matches: &str, more: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\nmatch = {{ {matches} }}\n{more}\n{LIMIT}")
}

fn check_tie(a: &str, b: &str, expect: bool) {
    for (a, b) in [(a, b), (b, a)] {
        let text = [rule("a", a, ""), rule("b", b, "")].concat();
        match tallyring_protocol::rules::parse(&text) {
            Ok(_) => assert!(!expect, "{a} ties with {b}"),
            Err(faults) => {
                assert!(expect, "{faults:?}");
                assert!(faults[0].to_string().contains("\"b\" ties with \"a\" (rule[0])"), "{faults:?}");
                assert_eq!((faults.len(), faults[0].line), (1, 8));
            }
        }
        let ranked = [rule("a", a, "rank = 1"), rule("b", b, "rank = -1")].concat();
        assert!(tallyring_protocol::rules::parse(&ranked).is_ok());
        let apart = [rule("a", a, ""), rule("b", b, "group = \"other\"")].concat();
        assert!(tallyring_protocol::rules::parse(&apart).is_ok());
        let shadow = [rule("a", a, ""), rule("b", b, "mode = \"shadow\"")].concat();
        assert!(tallyring_protocol::rules::parse(&shadow).is_ok());
    }
}

#[test]
fn rules_tie_if_both_can_match_and_neither_is_more_specific() {
    check_tie("", "", true);
    check_tie("client = \"a\"", "client = \"a\"", true);
    check_tie("client = \"a\"", "client = \"b\"", false);
    check_tie("client = \"a\"", "tenant = \"b\"", false);
    check_tie("client = \"a\", tier = \"x\"", "client = \"a\", tier = \"y\"", false);
    check_tie("client = \"a\", tier = \"x\"", "client = \"a\", tenant = \"y\"", true);
    check_tie("route = \"/a/{x}\"", "route = \"/{x}/b\"", true);
    check_tie("route = \"/a/{x}\"", "route = \"/b/{x}\"", false);
    check_tie("route = \"/a/{x}\"", "route = \"/a/{y}\"", true);
    check_tie("route = \"/a/{x}\"", "route = \"/{x}/{y}/c\"", false);
    check_tie("route = \"GET /a\"", "route = \"POST /a\"", false);
    check_tie("route = \"GET /a\"", "route = \"/a\"", false);
    check_tie("route = \"/{x}/*\"", "route = \"/a/*\"", true);
    check_tie("route = \"/a/*\"", "route = \"/b/*\"", false);
    check_tie("ip = \"10.0.0.0/8\"", "ip = \"10.1.0.0/16\"", true);
    check_tie("ip = \"10.0.0.0/16\"", "ip = \"10.1.0.0/16\"", false);
    check_tie("ip = \"0.0.0.0/0\"", "ip = \"::/0\"", false);
    check_tie("ip = \"10.0.0.0/8\"", "header.x = \"1\"", true);
    check_tie("header.X = \"1\"", "header.x = \"2\"", false);
    check_tie("header.x = \"1\"", "header.y = \"2\"", true);
    check_tie("attr.x = \"1\"", "header.x = \"1\"", true);
    check_tie("attr.x = \"1\"", "attr.x = \"1\", attr.y = \"1\"", false);
}

#[test]
fn an_allowing_rule_ties_like_any_other() {
    let text = format!("{}[[rule]]\nid = \"b\"\naction = \"allow\"\n", rule("a", "", ""));
    assert!(faults(&text)[0].contains("ties with"));
}

#[test]
fn an_id_is_one_rules_alone() {
    let text = [rule("a", "", ""), rule("b", "client = \"b\"", ""), rule("a", "client = \"c\"", "")].concat();
    let expect = ["2: rule[0].id: \"a\" is the id of rule[2] too", "16: rule[2].id: \"a\" is the id of rule[0] too"];
    assert_eq!(faults(&text), expect);
}

/// So many groups, each with a rule of one line of `match`.
fn groups(count: usize, matches: impl Fn(usize) -> String, more: &str) -> String {
    (0..count).map(|at| rule(at, &matches(at), &format!("group = \"g{at}\"\n{more}"))).collect()
}

fn check_wide(text: &str, expect: Option<&str>) {
    match (tallyring_protocol::rules::parse(text), expect) {
        (Ok(_), None) => {}
        (Err(faults), Some(expect)) => assert!(faults[0].to_string().contains(expect), "{faults:?}"),
        (result, expect) => panic!("{result:?} is not {expect:?}"),
    }
}

#[test]
fn sixteen_groups_may_apply_to_one_request_and_no_more() {
    let all = |_: usize| String::new();
    check_wide(&groups(16, all, ""), None);
    check_wide(
        &groups(17, all, ""),
        Some("17 enforced groups could apply to one request, at most 16 may: among them g0, g1"),
    );
    check_wide(&groups(17, all, "mode = \"shadow\""), Some("17 shadow groups"));
    check_wide(
        &[groups(16, all, ""), groups(16, all, "mode = \"shadow\"").replace("id = \"", "id = \"s")].concat(),
        None,
    );
}

#[test]
fn groups_that_never_apply_together_may_be_any_number() {
    check_wide(&groups(500, |at| format!("route = \"/r{at}/{{x}}\""), ""), None);
    check_wide(&groups(100, |at| format!("client = \"c{at}\""), ""), None);
    check_wide(&groups(100, |at| format!("ip = \"10.{at}.0.0/16\""), ""), None);
    check_wide(&groups(20, |at| format!("route = \"{}\"", "/{x}".repeat(at + 1)), ""), None);
    check_wide(
        &groups(20, |at| format!("route = \"{}/*\"", "/{x}".repeat(at)), ""),
        Some("enforced groups could apply"),
    );
    check_wide(&groups(20, |at| format!("ip = \"10.0.0.0/{}\"", at + 8), ""), Some("enforced groups could apply"));
    // Pairs: seventeen values of one header, two of another.
    let pairs = |at: usize| format!("header.a = \"{}\", header.b = \"{}\"", at % 17, at % 2);
    check_wide(&groups(34, pairs, ""), None);
}

#[test]
fn groups_of_which_some_request_has_too_many_are_found_among_many_that_are_apart() {
    let text = groups(60, |at| if at % 3 == 0 { "tier = \"x\"".to_owned() } else { format!("route = \"/r{at}\"") }, "");
    check_wide(&text, Some("enforced groups could apply"));
    let text = groups(45, |at| if at % 3 == 0 { "tier = \"x\"".to_owned() } else { format!("route = \"/r{at}\"") }, "");
    check_wide(&text, None); // fifteen and one
}

#[test]
fn an_allowing_rule_asks_nobody_and_so_is_not_counted() {
    let text =
        [groups(16, |_| String::new(), ""), "[[rule]]\nid = \"x\"\ngroup = \"x\"\naction = \"allow\"\n".to_owned()];
    check_wide(&text.concat(), None);
}

#[test]
fn headers_that_are_looked_up_are_bounded() {
    check_wide(&groups(64, |at| format!("client = \"{at}\", header.h{at} = \"1\""), ""), None);
    check_wide(
        &groups(65, |at| format!("client = \"{at}\", header.h{at} = \"1\""), ""),
        Some("match 65 different headers"),
    );
    check_wide(
        &groups(65, |at| format!("client = \"{at}\", attr.h{at} = \"1\""), ""),
        Some("match 65 different attributes"),
    );
}

fn both_match(a: &RuleDoc, b: &RuleDoc, requests: &[Request]) -> bool {
    requests.iter().any(|request| oracle::matches(a, &request.subject()) && oracle::matches(b, &request.subject()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// A tie that a request shows is found; that none is invented, the cases above say.
    #[test]
    fn no_tie_is_missed(
        document in generate::document(2..8),
        requests in prop::collection::vec(generate::request(), 50),
    ) {
        let tied = document.rule.iter().enumerate().any(|(at, rule)| {
            document.rule[..at].iter().any(|other| oracle::tie(rule, other) && both_match(rule, other, &requests))
        });
        if tied {
            prop_assert!(RuleSet::compile(document).unwrap_err().reason.contains("ties with"));
        }
    }

    #[test]
    fn what_compiles_says_the_same_once_it_was_sent(document in generate::document(0..10)) {
        let sent: Document = serde_json::from_str(&document.to_json()).unwrap();
        prop_assert_eq!(&sent, &document);
        let (here, there) = (RuleSet::compile(document), RuleSet::from_json(sent.to_json().as_bytes()));
        prop_assert_eq!(here.map(|rules| rules.to_json()), there.map(|rules| rules.to_json()));
    }
}
