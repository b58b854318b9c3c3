//! The rules of a store, without HTTP and without processes.

use std::sync::atomic::AtomicU64;

use super::publish::{Change, Expect};
use super::text::Text;
use super::tier::Tier;
use super::*;

/// An instant at which a history begins.
const BEGAN_US: u64 = 1_700_000_000_000_000;

fn clock() -> Clock {
    static NOW_US: AtomicU64 = AtomicU64::new(BEGAN_US);
    Clock::set_by_hand(&NOW_US)
}

fn rule(id: &str, limit: u64) -> String {
    format!(
        "[[rule]]\nid = \"{id}\"\nkey = [\"client\"]\nalgorithm = \"fixed_window\"\nlimit = {limit}\nwindow = \"60s\"\n"
    )
}

fn tiered(id: &str, tier: &str, limit: u64) -> String {
    format!("{}match = {{ tier = \"{tier}\" }}\nrank = {limit}\n", rule(id, limit))
}

fn text(text: impl Into<String>) -> Text {
    Text::from(text.into())
}

fn push(change: Change, expect: Expect) -> Push {
    Push { change, author: "alice".into(), comment: "because".into(), expect }
}

fn document(written: impl Into<String>) -> Push {
    push(Change::Document(text(written)), Expect::Anything)
}

fn version(version: u64) -> RulesVersion {
    RulesVersion { lineage: BEGAN_US, version }
}

fn limits(rules: &Rules) -> Vec<(String, u64)> {
    rules.live().set.document().rule.iter().map(|rule| (rule.id.clone(), rule.limit.unwrap_or(0))).collect()
}

fn open(dir: &tempfile::TempDir) -> Rules {
    Rules::open(clock(), Some(dir.path())).expect("a folder of its own")
}

fn memory() -> Rules {
    Rules::open(clock(), None).expect("memory has no faults")
}

#[test]
fn a_store_begins_without_rules_and_counts_versions_from_one() {
    let rules = memory();
    assert_eq!((rules.live().version, &*rules.live().json), (RulesVersion::NONE, "{}"));
    let first = rules.publish(&document(rule("a", 1))).unwrap();
    assert_eq!((first.version, first.is_new), (version(1), true));
    assert_eq!(rules.publish(&document(rule("a", 2))).unwrap().version, version(2));
    assert_eq!(limits(&rules), [("a".to_owned(), 2)]);
}

#[test]
fn the_same_text_again_is_no_new_version() {
    let rules = memory();
    rules.publish(&document(rule("a", 1))).unwrap();
    let again = rules.publish(&document(rule("a", 1))).unwrap();
    assert_eq!((again.version, again.is_new), (version(1), false));
    assert_eq!(rules.history().len(), 1);
}

#[test]
fn of_two_pushes_over_the_same_version_one_goes_through() {
    let rules = memory();
    let over_none = |limit| push(Change::Document(text(rule("a", limit))), Expect::OneOf(vec![RulesVersion::NONE]));
    assert!(rules.publish(&over_none(1)).is_ok());
    let late = rules.publish(&over_none(2)).unwrap_err();
    assert!(matches!(late, PublishError::Conflict { live } if live == version(1)), "{late}");
    assert_eq!(limits(&rules), [("a".to_owned(), 1)]);
}

#[test]
fn a_document_that_makes_no_sense_changes_nothing() {
    let rules = memory();
    rules.publish(&document(rule("a", 1))).unwrap();
    for bad in ["[[rule]", "rule = 7", "[[rule]]\nid = \"a\"", "unknown = 1", &(rule("a", 1) + &rule("a", 2))] {
        let error = rules.publish(&document(bad)).unwrap_err();
        assert!(matches!(error, PublishError::Faults(_)), "{bad}: {error}");
        assert_eq!((rules.live().version, limits(&rules)), (version(1), vec![("a".to_owned(), 1)]));
    }
}

#[test]
fn a_restart_keeps_version_text_and_history() {
    let dir = tempfile::tempdir().unwrap();
    let before = open(&dir);
    before.publish(&document(rule("a", 1))).unwrap();
    before.publish(&document(rule("a", 2))).unwrap();
    let after = open(&dir);
    assert_eq!((after.live().version, limits(&after)), (version(2), vec![("a".to_owned(), 2)]));
    assert_eq!(after.history(), before.history());
    assert_eq!(after.edition(1).unwrap().text, text(rule("a", 1)));
    assert_eq!(after.publish(&document(rule("a", 3))).unwrap().version, version(3));
}

#[test]
fn what_cannot_be_written_down_is_not_live() {
    let dir = tempfile::tempdir().unwrap();
    let rules = open(&dir);
    rules.publish(&document(rule("a", 1))).unwrap();
    std::fs::remove_dir_all(dir.path().join(FOLDER)).unwrap();
    let error = rules.publish(&document(rule("a", 2))).unwrap_err();
    assert!(matches!(error, PublishError::Write(_)), "{error}");
    assert_eq!((rules.live().version, limits(&rules)), (version(1), vec![("a".to_owned(), 1)]));
}

#[test]
fn the_rules_of_a_tier_are_replaced_where_they_stood() {
    let rules = memory();
    let whole = tiered("f1", "free", 1) + &tiered("p", "pro", 9) + &tiered("f2", "free", 2) + &rule("all", 100);
    rules.publish(&document(whole)).unwrap();
    let free = Tier::new("free");
    let ids = |document: tallyring_protocol::rules::Document| {
        document.rule.into_iter().map(|rule| rule.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(free.of(&rules.live())), ["f1", "f2"]);
    rules.publish(&push(Change::Tier(free.clone(), text(tiered("f3", "free", 3))), Expect::Anything)).unwrap();
    let expect = [("f3", 3), ("p", 9), ("all", 100)].map(|(id, limit)| (id.to_owned(), limit));
    assert_eq!(limits(&rules), expect);
    rules.publish(&push(Change::Tier(free.clone(), text("")), Expect::Anything)).unwrap();
    assert_eq!(limits(&rules).len(), 2, "a tier may have no rules of its own");
    rules.publish(&push(Change::Tier(free, text(tiered("f4", "free", 4))), Expect::Anything)).unwrap();
    assert_eq!(limits(&rules)[2], ("f4".to_owned(), 4));
}

#[test]
fn the_rules_of_a_tier_speak_of_that_tier_alone() {
    let rules = memory();
    let check = |rules_of_tier: String, expect: &str| {
        let change = Change::Tier(Tier::new("free"), text(rules_of_tier));
        let error = rules.publish(&push(change, Expect::Anything)).unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    check(
        tiered("a", "pro", 1),
        "rule[0].match.tier: \"pro\" is another tier: every rule here has to say tier = \"free\"",
    );
    check(rule("a", 1), "rule[0].match.tier: missing: every rule here has to say tier = \"free\"");
    check("[defaults]\nenforce = false\n".into(), "defaults: are not a tier's: change them in the whole document");
    assert_eq!(rules.live().version, RulesVersion::NONE);
}
