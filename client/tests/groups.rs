//! Several rules in one decision: all or nothing, over one shard or several.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;
mod gate;

use std::collections::HashMap;
use std::time::Duration;

use fake::{FakeStore, Manners};
use gate::{ask, check, hourly, in_group, limiter, nowhere, rule, subject, until};
use proptest::prelude::*;
use tallyring_client::{Call, Decision, GroupFilter, Key, Level, RateLimiter, Source};

/// The rules' ids, each with whether it allowed.
fn verdicts(decision: &Decision) -> Vec<(&str, bool)> {
    decision.checks.iter().map(|check| (check.rule.id(), check.allowed)).collect()
}

fn speaker(decision: &Decision) -> &str {
    decision.speaker().unwrap().rule.id()
}

/// The key that a rule counts this client under.
async fn key_of(limiter: &RateLimiter, client: &str, rule: &str) -> Key {
    let decision = ask(limiter, client, 0).await;
    decision.checks.iter().find(|check| check.rule.id() == rule).unwrap().key().clone()
}

/// Everything that a cluster has charged to a key.
fn used(cluster: &[FakeStore], key: &Key) -> u64 {
    cluster.iter().map(|fake| fake.used(key)).sum()
}

/// A client and a tenant whose keys live on different nodes.
async fn strangers(cluster: &[FakeStore], limiter: &RateLimiter, rules: [&str; 2]) -> String {
    let topology = cluster[0].topology();
    let ring = topology.ring();
    for n in 0..100 {
        let client = format!("client-{n}/tenant-{n}");
        let mut owners = Vec::new();
        for rule in rules {
            let key = key_of(limiter, &client, rule).await;
            owners.push(ring.owner(topology.placement_seed.place(key.as_ref())).unwrap());
        }
        if owners[0] != owners[1] {
            return client;
        }
    }
    panic!("a hundred pairs on one node each");
}

#[tokio::test]
async fn rules_of_one_identity_are_one_question() {
    let fake = FakeStore::start(4).await;
    let limiter = limiter(&fake.client(), &[hourly("minute", "client", 3), hourly("day", "client", 2)]);
    for allowed in [true, true, false] {
        assert_eq!(check(&limiter, "k").await.allowed, allowed);
    }
    assert_eq!((fake.times("check_all"), fake.times("check"), fake.times("refund")), (3, 0, 0));
    let key = key_of(&limiter, "k", "minute").await;
    assert_eq!(fake.used(&key), 2, "refused by one, charged by none");
}

#[tokio::test]
async fn what_one_node_charged_is_given_back_before_another_nodes_denial_is_answered() {
    let cluster = FakeStore::cluster(2, 2).await;
    let limiter = limiter(&cluster[0].client(), &[hourly("first", "client", 9), hourly("second", "tenant", 1)]);
    let client = strangers(&cluster, &limiter, ["first", "second"]).await;
    let (first, second) = (key_of(&limiter, &client, "first").await, key_of(&limiter, &client, "second").await);
    assert!(check(&limiter, &client).await.allowed);
    let denied = check(&limiter, &client).await;
    assert_eq!(verdicts(&denied), [("first", true), ("second", false)]);
    assert_eq!((used(&cluster, &first), used(&cluster, &second)), (1, 1));
    assert_eq!(denied.checks[0].remaining, 8, "as it stands with nothing charged");
    assert_eq!(denied.checks[0].charged_at_us, None);
}

#[tokio::test]
async fn after_a_denial_the_other_nodes_are_only_looked_at_so_that_the_longest_wait_is_known() {
    let cluster = FakeStore::cluster(2, 1).await;
    let limiter = limiter(&cluster[0].client(), &[hourly("first", "client", 4), hourly("second", "tenant", 2)]);
    let client = strangers(&cluster, &limiter, ["first", "second"]).await;
    let second = key_of(&limiter, &client, "second").await;
    assert!(ask(&limiter, &client, 2).await.allowed);
    let denied = ask(&limiter, &client, 3).await;
    assert_eq!(verdicts(&denied), [("first", false), ("second", false)]);
    assert_eq!((speaker(&denied), denied.retry_after()), ("second", None), "never is the longest wait");
    assert_eq!(used(&cluster, &second), 2);
}

#[tokio::test]
async fn of_an_allowed_call_the_rule_with_the_fewest_units_left_speaks_and_the_first_of_equals() {
    let fake = FakeStore::start(1).await;
    let rules = [hourly("a", "client", 9), hourly("b", "client", 4), hourly("c", "client", 4)];
    let decision = check(&limiter(&fake.client(), &rules), "k").await;
    assert_eq!((speaker(&decision), decision.speaker().unwrap().remaining), ("b", 3));
}

#[tokio::test]
async fn a_rule_that_blocks_asks_nobody() {
    let fake = FakeStore::start(1).await;
    let blocks = r#"{"id":"b","group":"b","match":{"tenant":"t"},"action":"block"}"#.to_owned();
    let limiter = limiter(&fake.client(), &[hourly("a", "client", 9), blocks]);
    let blocked = check(&limiter, "k/t").await;
    assert_eq!(verdicts(&blocked), [("b", false)]);
    assert_eq!((blocked.source(), blocked.retry_after(), blocked.level), (Source::Rule, None, Level::Denied));
    assert!(check(&limiter, "k").await.allowed, "nobody of that tenant");
    assert_eq!((limiter.counts().rule_denied, fake.times("check")), (1, 1));
}

#[tokio::test]
async fn the_kill_switch_lets_everybody_pass_and_goes_on_counting() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[hourly("a", "client", 2)]);
    let version = |version| tallyring_client::RulesVersion { lineage: 1, version };
    let rule = hourly("a", "client", 2);
    fake.publish(version(1), &format!(r#"{{"defaults":{{"enforce":false}},"rule":[{rule}]}}"#));
    until("the switch", || limiter.version() == version(1)).await;
    for _ in 0..5 {
        let decision = check(&limiter, "k").await;
        assert!(decision.allowed && decision.checks.is_empty());
    }
    until("the counts", || limiter.counts().shadow_allowed + limiter.counts().shadow_denied == 5).await;
    assert_eq!(limiter.counts().shadow_denied, 3);
    assert!(fake.defined().iter().all(|defined| defined.shadow));
}

#[tokio::test]
async fn a_sheddable_call_leaves_some_and_an_important_one_always_passes() {
    let fake = FakeStore::start(1).await;
    let numbers =
        r#""algorithm":"fixed_window","limit":10,"window":"1h","priorities":{"critical":"always","low":"0.5"}"#;
    let limiter = limiter(&fake.client(), &[rule("r", "client", numbers)]);
    let call = |priority| Call { cost: 3, priority, ..Call::new(subject("k")) };
    let allows = async |priority| limiter.check(&call(priority)).await.allowed;
    assert!(allows(Some("low")).await, "3 of 10, 7 are left");
    assert!(!allows(Some("low")).await, "4 would be left, and 5 have to");
    assert!(allows(Some("unheard of")).await && allows(None).await);
    assert!(!allows(None).await);
    assert!(allows(Some("critical")).await);
    let forced = limiter.check(&call(Some("critical"))).await;
    limiter.refund(&forced).await;
    let key = key_of(&limiter, "k", "r").await;
    assert_eq!(fake.used(&key), 10, "the last forced call found nothing, so there was nothing to give back");
}

#[tokio::test]
async fn near_its_end_a_budget_is_soft() {
    let fake = FakeStore::start(1).await;
    let numbers = r#""algorithm":"fixed_window","limit":4,"window":"1h","soft":"0.75""#;
    let limiter = limiter(&fake.client(), &[rule("r", "client", numbers), hourly("other", "client", 9)]);
    let mut levels = Vec::new();
    for _ in 0..5 {
        levels.push(check(&limiter, "k").await.level);
    }
    assert_eq!(levels, [Level::Ok, Level::Ok, Level::Soft, Level::Soft, Level::Denied]);
}

#[tokio::test]
async fn groups_can_be_asked_one_after_the_other() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[hourly("ip", "client", 2), hourly("rest", "client", 1)]);
    let call = Call::new(subject("k"));
    let first = limiter.check_groups(&call, &GroupFilter::only(["ip"])).await;
    let second = limiter.check_groups(&call, &GroupFilter::without(["ip"])).await;
    assert_eq!((verdicts(&first), verdicts(&second)), (vec![("ip", true)], vec![("rest", true)]));
}

#[tokio::test]
async fn a_call_that_is_cancelled_between_two_nodes_gives_back_what_the_first_has_charged() {
    let cluster = FakeStore::cluster(2, 1).await;
    let limiter = limiter(&cluster[0].client(), &[hourly("first", "client", 9), hourly("second", "tenant", 9)]);
    let client = strangers(&cluster, &limiter, ["first", "second"]).await;
    let keys = [key_of(&limiter, &client, "first").await, key_of(&limiter, &client, "second").await];
    let topology = cluster[0].topology();
    let owner = topology.ring().owner(topology.placement_seed.place(keys[1].as_ref())).unwrap();
    let second = cluster.iter().zip(1..).find(|(_, id)| *id == owner.0).unwrap().0;
    second.be(Manners::Late(Duration::from_millis(200)));
    let asked = (second.times("check"), used(&cluster, &keys[0]));
    tokio::select! {
        biased;
        _ = check(&limiter, &client) => panic!("the second node is late"),
        () = until("the second question", || second.times("check") > asked.0) => {}
    }
    until("the refund", || used(&cluster, &keys[0]) == asked.1).await;
}

#[tokio::test]
async fn a_share_that_was_charged_here_is_given_back_when_another_rule_denies() {
    let limiter = limiter(&nowhere(), &[hourly("a", "client", 100), hourly("b", "client", 20)]);
    let mut allowed = Vec::new();
    for _ in 0..3 {
        allowed.push(check(&limiter, "k").await.allowed);
    }
    assert_eq!(allowed, [true, false, false], "an hour's budget of 20 is a bucket of 1");
    let decision = ask(&limiter, "k", 0).await;
    assert_eq!(decision.checks[0].remaining, 4, "of a bucket of 5");
}

#[tokio::test]
async fn an_estimate_is_charged_under_every_rule_and_settled_under_every_rule() {
    let cluster = FakeStore::cluster(2, 1).await;
    let limiter = limiter(&cluster[0].client(), &[hourly("first", "client", 100), hourly("second", "tenant", 90)]);
    let client = strangers(&cluster, &limiter, ["first", "second"]).await;
    let keys = [key_of(&limiter, &client, "first").await, key_of(&limiter, &client, "second").await];
    let call = |cost| Call { cost, ..Call::new(subject(&client)) };
    let charged = || keys.each_ref().map(|key| used(&cluster, key));

    let reserved = limiter.reserve(&call(80), Duration::from_secs(60)).await;
    assert_eq!((reserved.decision().allowed, charged()), (true, [80, 80]));
    reserved.settle(30).await.unwrap();
    assert_eq!(charged(), [30, 30]);

    let denied = limiter.reserve(&call(65), Duration::from_secs(60)).await;
    assert_eq!(verdicts(denied.decision()), [("first", true), ("second", false)]);
    assert_eq!(charged(), [30, 30], "reserved by one, denied by the other: settled to nothing");

    let mut dropped = limiter.reserve(&call(20), Duration::from_secs(60)).await;
    dropped.note_used(5);
    drop(dropped);
    until("the settle", || charged() == [35, 35]).await;
}

#[tokio::test]
async fn an_estimate_without_a_store_is_settled_in_the_share() {
    let limiter =
        limiter(&nowhere(), &[rule("r", "client", r#""algorithm":"fixed_window","limit":100,"window":"60s""#)]);
    let call = Call { cost: 80, ..Call::new(subject("k")) };
    let reserved = limiter.reserve(&call, Duration::from_secs(60)).await;
    assert_eq!(reserved.decision().source(), Source::Fallback);
    reserved.settle(30).await.unwrap();
    assert_eq!(ask(&limiter, "k", 0).await.checks[0].remaining, 70);
    assert_eq!(limiter.counts().arrears_owed, 30);
}

fn slots(limit: u64, more: &str) -> String {
    in_group("slots", "client", "slots", &format!(r#""algorithm":"concurrency","limit":{limit},"window":"60s"{more}"#))
}

#[tokio::test]
async fn a_slot_is_held_until_the_last_clone_is_dropped() {
    let fake = FakeStore::start(1).await;
    let limiter = limiter(&fake.client(), &[slots(2, ""), hourly("rate", "client", 9)]);
    let (first, second) = (check(&limiter, "k").await, check(&limiter, "k").await);
    assert_eq!((fake.held(), first.held().is_empty()), (2, false));
    let denied = check(&limiter, "k").await;
    assert_eq!((speaker(&denied), denied.held().is_empty()), ("slots", true));
    assert_eq!(fake.used(first.checks[1].key()), 2, "what the denied call was charged is given back");
    let response_body = first.held().clone();
    drop((first, second));
    until("one release", || fake.held() == 1).await;
    drop(response_body);
    until("the other release", || fake.held() == 0).await;
}

#[tokio::test]
async fn without_a_store_slots_are_this_gateways_share_of_them() {
    let limiter = limiter(&nowhere(), &[slots(4, r#","fallback_gateways":2"#)]);
    let held = [check(&limiter, "k").await, check(&limiter, "k").await];
    assert!(held.iter().all(|decision| decision.allowed && decision.source() == Source::Fallback));
    assert!(!check(&limiter, "k").await.allowed);
    drop(held);
    assert!(check(&limiter, "k").await.allowed);
}

/// One call: which client, which tenant, how much.
type Asked = (u8, u8, u64);

/// What rules may be charged: the same arithmetic, on a map.
#[derive(Debug, Default)]
struct Model(HashMap<Key, u64>);

impl Model {
    /// Charges every key, or none if one of the limits would be exceeded.
    fn charge(&mut self, keys: &[(Key, u64)], cost: u64) -> bool {
        let used = |key: &Key| self.0.get(key).copied().unwrap_or(0);
        let fits = keys.iter().all(|(key, limit)| used(key) + cost <= *limit);
        if fits {
            keys.iter().for_each(|(key, _)| *self.0.entry(key.clone()).or_default() += cost);
        }
        fits
    }
}

async fn run(limits: [u64; 4], calls: Vec<Asked>) {
    let cluster = FakeStore::cluster(3, 2).await;
    let parts = ["client", "tenant", "client", "tier"];
    let rules: Vec<String> = (0..4).map(|n| hourly(&format!("r{n}"), parts[n], limits[n])).collect();
    let store = cluster[0].client_with(|config| config.deadline = Duration::from_secs(10));
    let limiter = limiter(&store, &rules);
    assert!(store.ready(Duration::from_secs(10)).await);
    let mut model = Model::default();
    for (client, tenant, cost) in calls {
        let (client, tenant) = (format!("c{client}"), format!("t{tenant}"));
        let who = tallyring_client::Subject { tier: Some("free"), ..subject(&client) };
        let call = Call { cost, ..Call::new(tallyring_client::Subject { tenant: Some(&tenant), ..who }) };
        let look = limiter.check(&Call { cost: 0, ..call }).await;
        let keys: Vec<(Key, u64)> = look.checks.iter().map(|check| (check.key().clone(), check.limit)).collect();
        assert_eq!(keys.len(), 4);
        let decision = limiter.check(&call).await;
        assert_eq!(decision.allowed, model.charge(&keys, cost), "{call:?}: {decision:?}");
        for (key, _) in &keys {
            assert_eq!(
                used(&cluster, key),
                model.0.get(key).copied().unwrap_or(0),
                "{call:?} left a part of its charge"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Four rules over six shards of three nodes, where any of them may deny: after every answer the counters are those
    /// of the calls that were admitted, and of no other.
    #[test]
    fn a_denied_call_leaves_no_part_of_its_charge(
        limits in prop::array::uniform4(1..12u64),
        calls in prop::collection::vec((0..4u8, 0..4u8, 1..4u64), 1..25),
    ) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run(limits, calls));
    }
}
