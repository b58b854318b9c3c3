//! The rules of a store, without HTTP and without processes.

use std::net::Ipv4Addr;
use std::sync::atomic::AtomicU64;

use tallyring_protocol::NodeId;
use tokio_util::sync::CancellationToken;

use super::publish::{Change, Expect, PublishError, Push};
use super::shelf::Shelf;
use super::text::Text;
use super::tier::Tier;
use super::*;
use crate::cluster::control::ControlSetup;
use crate::cluster::control::begin::Beginning;
use crate::cluster::control::change::{Publish, Seeds, What};
use crate::cluster::control::member::{Addresses, Member};
use crate::cluster::control::packed::Packed;
use crate::cluster::control::raft::store::Store;
use crate::cluster::control::timing::Timing;
use crate::cluster::pulse::Pulse;
use crate::sys::clock::Clock;
use crate::sys::net::Bound;

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

/// A node's control plane alone; it ends when nobody can propose anything any more.
async fn control(store: Store) -> (Control, CancellationToken) {
    let listener = Bound::listen((Ipv4Addr::LOCALHOST, 0).into()).await.expect("a free port");
    let at = || "127.0.0.1:1".to_owned();
    let member = Member::new(NodeId(1), Addresses { native: at(), http: at(), resp: at(), peer: at() });
    let draining = CancellationToken::new();
    let setup = ControlSetup {
        store,
        member,
        beginning: Beginning::Found(Seeds { placement: [1; 16], identity: [2; 16] }),
        listener,
        guests: tokio::sync::mpsc::channel(1).0,
        certificates: None,
        token: "".into(),
        tokens: Arc::default(),
        pulse: Pulse::new(clock()),
        timing: Timing::default(),
        draining: draining.clone(),
    };
    (Control::start(setup).await.expect("a cluster of one").0, draining)
}

async fn memory() -> Arc<Rules> {
    Arc::new(Rules::open(control(Store::in_memory()).await.0).expect("there are none"))
}

#[tokio::test]
async fn a_store_begins_without_rules_and_counts_versions_from_one() {
    let rules = memory().await;
    assert_eq!((rules.live().version, &*rules.live().json), (RulesVersion::NONE, "{}"));
    let first = rules.publish(document(rule("a", 1))).await.unwrap();
    assert_eq!((first.version, first.is_new), (version(1), true));
    assert_eq!(rules.publish(document(rule("a", 2))).await.unwrap().version, version(2));
    assert_eq!(limits(&rules), [("a".to_owned(), 2)]);
}

#[tokio::test]
async fn the_same_text_again_is_no_new_version() {
    let rules = memory().await;
    rules.publish(document(rule("a", 1))).await.unwrap();
    let again = rules.publish(document(rule("a", 1))).await.unwrap();
    assert_eq!((again.version, again.is_new), (version(1), false));
    assert_eq!(rules.history().len(), 1);
}

#[tokio::test]
async fn of_two_pushes_over_the_same_version_one_goes_through() {
    let rules = memory().await;
    let over_none = |limit| push(Change::Document(text(rule("a", limit))), Expect::OneOf(vec![RulesVersion::NONE]));
    assert!(rules.publish(over_none(1)).await.is_ok());
    let late = rules.publish(over_none(2)).await.unwrap_err();
    assert!(matches!(late, PublishError::Conflict { live } if live == version(1)), "{late}");
    assert_eq!(limits(&rules), [("a".to_owned(), 1)]);
}

#[tokio::test]
async fn a_document_that_makes_no_sense_changes_nothing() {
    let rules = memory().await;
    rules.publish(document(rule("a", 1))).await.unwrap();
    for bad in ["[[rule]", "rule = 7", "[[rule]]\nid = \"a\"", "unknown = 1", &(rule("a", 1) + &rule("a", 2))] {
        let error = rules.publish(document(bad)).await.unwrap_err();
        assert!(matches!(error, PublishError::Faults(_)), "{bad}: {error}");
        assert_eq!((rules.live().version, limits(&rules)), (version(1), vec![("a".to_owned(), 1)]));
    }
}

#[tokio::test]
async fn a_restart_keeps_version_text_and_history() {
    let dir = tempfile::tempdir().unwrap();
    let open = async || control(Store::open(dir.path()).unwrap()).await;
    let (before, draining) = open().await;
    let rules = Arc::new(Rules::open(before).unwrap());
    rules.publish(document(rule("a", 1))).await.unwrap();
    rules.publish(document(rule("a", 2))).await.unwrap();
    let history = rules.history();
    draining.cancel();
    rules.control.states().wait_for(|_| false).await.unwrap_err(); // until it has ended
    let after = Arc::new(Rules::open(open().await.0).unwrap());
    assert_eq!((after.live().version, limits(&after)), (version(2), vec![("a".to_owned(), 2)]));
    assert_eq!(after.history(), history);
    assert_eq!(after.edition(1).unwrap().text, text(rule("a", 1)));
    assert_eq!(after.publish(document(rule("a", 3))).await.unwrap().version, version(3));
}

#[tokio::test]
async fn what_is_not_agreed_on_is_not_live() {
    let (control, draining) = control(Store::in_memory()).await;
    let rules = Arc::new(Rules::open(control).unwrap());
    rules.publish(document(rule("a", 1))).await.unwrap();
    draining.cancel();
    let error = rules.publish(document(rule("a", 2))).await.unwrap_err();
    assert!(matches!(error, PublishError::NotAgreed(_)), "{error}");
    assert_eq!((rules.live().version, limits(&rules)), (version(1), vec![("a".to_owned(), 1)]));
}

#[tokio::test]
async fn what_others_publish_is_live_here_too() {
    let rules = memory().await;
    let following = tokio::spawn(Arc::clone(&rules).follow());
    let publish = |text: &str| {
        let text = Packed::new(&text.to_owned().into()).unwrap();
        What::Publish(Publish { text, author: "b".into(), comment: "".into(), expect: None })
    };
    rules.control.propose(publish(&rule("a", 7))).await.unwrap();
    rules.changed().await;
    assert_eq!((rules.live().version, limits(&rules)), (version(1), vec![("a".to_owned(), 7)]));
    // Another version of the program may understand what this one does not.
    rules.control.propose(publish("not understood here")).await.unwrap();
    assert_eq!((rules.live().version, rules.agreed()), (version(1), version(2)), "the last good one stays");
    let error = Rules::open(rules.control.clone()).unwrap_err().to_string();
    assert!(error.starts_with("version 2 of the rules is not understood by this program: 1: "), "{error}");
    assert_eq!(rules.publish(document(rule("a", 8))).await.unwrap().version, version(3));
    following.abort();
}

#[tokio::test]
async fn pushes_to_two_tiers_at_once_both_go_through() {
    let rules = memory().await;
    let tier = |name: &str| push(Change::Tier(Tier::new(name), text(tiered(name, name, 1))), Expect::Anything);
    let (one, other) = tokio::join!(rules.publish(tier("free")), rules.publish(tier("pro")));
    assert_eq!(one.unwrap().version.version + other.unwrap().version.version, 3);
    assert_eq!(limits(&rules).len(), 2);
}

#[tokio::test]
async fn the_versions_of_an_old_folder_are_taken_once() {
    let data = shelf::tests::with(1..=3);
    let (control, _) = control(Store::in_memory()).await;
    for _ in 0..2 {
        if let Some(shelf) = Shelf::open(data.path()).unwrap() {
            shelf.import(&control).await.unwrap();
        }
        let book = control.state().rules().clone();
        assert_eq!(book.version(), RulesVersion { lineage: 5, version: 3 });
        let dates: Vec<u64> = book.editions().map(|edition| edition.imprint.published_at_us).collect();
        assert_eq!(dates, [7, 6, 5]);
        assert!(!data.path().join("rules").exists(), "the folder is no more");
    }
}

#[tokio::test]
async fn an_import_goes_on_where_it_stopped() {
    let (first, all) = (shelf::tests::with(1..=2), shelf::tests::with(1..=3));
    let (control, _) = control(Store::in_memory()).await;
    for data in [&first, &all] {
        Shelf::open(data.path()).unwrap().unwrap().import(&control).await.unwrap();
    }
    assert_eq!(control.state().rules().version().version, 3);
    // What has nothing to do with what is live stays where it is.
    let other = shelf::tests::with(5..=6);
    Shelf::open(other.path()).unwrap().unwrap().import(&control).await.unwrap();
    assert_eq!(control.state().rules().version().version, 3);
    assert!(other.path().join("rules").exists());
}

#[tokio::test]
async fn the_rules_of_a_tier_are_replaced_where_they_stood() {
    let rules = memory().await;
    let whole = tiered("f1", "free", 1) + &tiered("p", "pro", 9) + &tiered("f2", "free", 2) + &rule("all", 100);
    rules.publish(document(whole)).await.unwrap();
    let free = Tier::new("free");
    let ids = |document: tallyring_protocol::rules::Document| {
        document.rule.into_iter().map(|rule| rule.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(free.of(&rules.live())), ["f1", "f2"]);
    rules.publish(push(Change::Tier(free.clone(), text(tiered("f3", "free", 3))), Expect::Anything)).await.unwrap();
    let expect = [("f3", 3), ("p", 9), ("all", 100)].map(|(id, limit)| (id.to_owned(), limit));
    assert_eq!(limits(&rules), expect);
    rules.publish(push(Change::Tier(free.clone(), text("rule = []")), Expect::Anything)).await.unwrap();
    assert_eq!(limits(&rules).len(), 2, "a tier may have no rules of its own");
    rules.publish(push(Change::Tier(free, text(tiered("f4", "free", 4))), Expect::Anything)).await.unwrap();
    assert_eq!(limits(&rules)[2], ("f4".to_owned(), 4));
}

#[tokio::test]
async fn the_rules_of_a_tier_speak_of_that_tier_alone() {
    let rules = memory().await;
    for (rules_of_tier, expect) in [
        (
            tiered("a", "pro", 1),
            "rule[0].match.tier: \"pro\" is another tier: every rule here has to say tier = \"free\"",
        ),
        (rule("a", 1), "rule[0].match.tier: missing: every rule here has to say tier = \"free\""),
        ("[defaults]\nenforce = false\n".into(), "defaults: are not a tier's: change them in the whole document"),
    ] {
        let change = Change::Tier(Tier::new("free"), text(rules_of_tier));
        let error = rules.publish(push(change, Expect::Anything)).await.unwrap_err();
        assert_eq!(error.to_string(), expect);
    }
    assert_eq!(rules.live().version, RulesVersion::NONE);
}
