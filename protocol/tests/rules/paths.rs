//! Paths have one spelling each.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tallyring_protocol::rules::{RuleSet, Subject, normalised_path};

use crate::rules;

fn by_path() -> RuleSet {
    rules("[[rule]]\nid = \"p\"\nkey = [\"path\"]\nalgorithm = \"fixed_window\"\nlimit = 3\nwindow = \"1m\"\n")
}

/// How many counters these paths have.
fn counters(paths: &[&str]) -> usize {
    let rules = by_path();
    let key = |path: &&str| rules.resolve(&Subject::new("POST", path)).enforced[0].key.as_ref().block().to_vec();
    paths.iter().map(key).collect::<BTreeSet<_>>().len()
}

/// Rules-path-01.
#[test]
fn spellings_of_one_path_share_a_counter() {
    let paths = [
        "/api/login",
        "//api/login",
        "/api//login",
        "/api/./login",
        "/api/x/../login",
        "/api/%6Cogin",
        "/api/%6cogin",
        "/api/login?x=1",
        "/api/login#f",
        "/./api/login",
    ];
    assert_eq!(counters(&paths), 1);
    let login = rules(
        "[[rule]]\nid = \"login\"\nmatch.route = \"POST /api/login\"\nalgorithm = \"fixed_window\"\nlimit = 3\nwindow = \"1m\"\n",
    );
    for path in paths {
        assert_eq!(login.resolve(&Subject::new("POST", path)).enforced.len(), 1, "{path}");
    }
}

/// Rules-path-03.
#[test]
fn an_escaped_slash_is_no_slash_and_is_decoded_once() {
    assert_eq!(counters(&["/a%2fb", "/a%2Fb", "/a/b", "/a%252Fb"]), 3);
    assert_eq!(counters(&["/a%2fb", "/a%2Fb"]), 1);
}

fn path() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-cA-C./%]{0,3}",
        Just("%2e".to_owned()),
        Just("%2F".to_owned()),
        Just("%25".to_owned()),
        Just("%%36%31".to_owned()),
        "[?#é \u{0}]",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_normal_form_is_its_own_normal_form(path in path()) {
        let once = normalised_path(&path);
        prop_assert_eq!(&normalised_path(&once), &once);
        prop_assert!(once.starts_with('/') && (once == "/" || !once.ends_with('/')), "{}", once);
        prop_assert!(once.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?' && byte != b'#'), "{}", once);
        prop_assert!(once == "/" || once[1..].split('/').all(|part| !["", ".", ".."].contains(&part)), "{}", once);
    }

    #[test]
    fn what_is_spelled_otherwise_matches_the_same(path in path(), again in "(/|/\\./|//|/x/\\.\\./)") {
        let other = path.replacen('/', &again, 1);
        if path.starts_with('/') {
            prop_assert_eq!(normalised_path(&other), normalised_path(&path));
        }
    }
}
