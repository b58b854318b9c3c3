//! Rules that change while requests are made.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;
mod gate;

use fake::{FakeStore, Manners};
use gate::{ask, check, decide, document, hourly, limiter, nowhere, rules, until};
use tallyring_client::{RateLimiter, RateLimiterConfig, RulesVersion, Source, Store};

fn version(lineage: u64, version: u64) -> RulesVersion {
    RulesVersion { lineage, version }
}

async fn until_in_force(limiter: &RateLimiter, version: RulesVersion) {
    until(&format!("{version:?}"), || limiter.version() == version).await;
}

fn ids(limiter: &RateLimiter) -> Vec<String> {
    limiter.rules().rules().iter().map(|rule| rule.id().to_owned()).collect()
}

/// A limiter of the fake's rules, which is connected.
async fn follower(fake: &FakeStore, baked_in: &[String]) -> (Store, RateLimiter) {
    let store = fake.client();
    let limiter = limiter(&store, baked_in);
    assert!(store.ready(std::time::Duration::from_secs(5)).await);
    (store, limiter)
}

#[tokio::test]
async fn the_baked_in_rules_hold_until_the_store_says_others() {
    let fake = FakeStore::start(1).await;
    let (_store, limiter) = follower(&fake, &[hourly("baked-in", "client", 9)]).await;
    assert_eq!((limiter.version(), ids(&limiter)), (RulesVersion::NONE, vec!["baked-in".into()]));
    fake.publish(version(1, 1), &document(&[hourly("pushed", "client", 9)]));
    until_in_force(&limiter, version(1, 1)).await;
    assert_eq!(check(&limiter, "k").await.checks[0].rule.id(), "pushed");
}

#[tokio::test]
async fn rules_that_were_there_before_are_fetched_when_a_gateway_starts() {
    let fake = FakeStore::start(1).await;
    fake.publish(version(1, 7), &document(&[hourly("old", "client", 9)]));
    let (_store, limiter) = follower(&fake, &[]).await;
    until_in_force(&limiter, version(1, 7)).await;
}

#[tokio::test]
async fn one_push_is_fetched_once_whatever_the_number_of_connections() {
    let fake = FakeStore::start(4).await;
    let (_store, limiter) = follower(&fake, &[]).await;
    fake.publish(version(1, 1), &document(&[hourly("r", "client", 9)]));
    until_in_force(&limiter, version(1, 1)).await;
    assert_eq!((fake.open(), fake.times("get_rules")), (4, 1));
}

#[tokio::test]
async fn an_older_document_replaces_nothing_and_a_store_that_began_again_is_newer() {
    let cluster = FakeStore::cluster(2, 1).await;
    let (_store, limiter) = follower(&cluster[0], &[]).await;
    cluster[0].publish(version(5, 3), &document(&[hourly("third", "client", 9)]));
    until_in_force(&limiter, version(5, 3)).await;
    let lagging = [version(5, 2), version(4, 9), RulesVersion::NONE];
    lagging.into_iter().for_each(|older| cluster[1].publish(older, &document(&[hourly("older", "client", 9)])));
    cluster[1].publish(version(6, 1), &document(&[hourly("begun-again", "client", 9)]));
    // Whichever node is asked, it must have the newest by then.
    cluster[0].publish(version(6, 1), &document(&[hourly("begun-again", "client", 9)]));
    until_in_force(&limiter, version(6, 1)).await;
    assert_eq!(ids(&limiter), ["begun-again"]);
}

#[tokio::test]
async fn a_node_that_lags_behind_does_not_keep_the_newest_from_coming() {
    let cluster = FakeStore::cluster(3, 1).await;
    let (_store, limiter) = follower(&cluster[0], &[]).await;
    cluster[0].publish(version(1, 1), &document(&[hourly("first", "client", 9)]));
    cluster[2].publish(version(1, 2), &document(&[hourly("second", "client", 9)]));
    until_in_force(&limiter, version(1, 2)).await;
}

#[tokio::test]
async fn a_document_that_makes_no_sense_changes_nothing_and_the_next_one_is_taken() {
    let fake = FakeStore::start(1).await;
    let (_store, limiter) = follower(&fake, &[]).await;
    fake.publish(version(1, 1), &document(&[hourly("good", "client", 9)]));
    until_in_force(&limiter, version(1, 1)).await;
    for (n, bad) in (2..).zip(["{", r#"{"rule":[{"id":"x"}]}"#, r#"{"rule":[],"unheard":1}"#]) {
        let fetched = fake.times("get_rules");
        fake.publish(version(1, n), bad);
        until("the fetch", || fake.times("get_rules") > fetched).await;
        assert!(check(&limiter, "k").await.allowed);
        assert_eq!((limiter.version(), ids(&limiter)), (version(1, 1), vec!["good".into()]), "{bad}");
    }
    assert_eq!(fake.times("get_rules"), 4, "what makes no sense is not fetched again");
    fake.publish(version(1, 5), &document(&[hourly("mended", "client", 9)]));
    until_in_force(&limiter, version(1, 5)).await;
}

#[tokio::test]
async fn the_last_good_rules_outlive_their_store() {
    let fake = FakeStore::start(1).await;
    let address = fake.address();
    let (_store, limiter) = follower(&fake, &[hourly("baked-in", "client", 9)]).await;
    fake.publish(version(2, 4), &document(&[hourly("pushed", "client", 9)]));
    until_in_force(&limiter, version(2, 4)).await;
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    assert_eq!((limiter.version(), ids(&limiter)), (version(2, 4), vec!["pushed".into()]));

    let _forgetful = FakeStore::start_at(&address, 1, 1).await;
    decide(&limiter, Source::Store).await;
    assert_eq!(limiter.version(), version(2, 4), "a store without rules takes none away");
}

#[tokio::test]
async fn rules_that_did_not_come_are_asked_for_again() {
    let fake = FakeStore::start(1).await;
    let (_store, limiter) = follower(&fake, &[]).await;
    fake.be(Manners::HangUp);
    fake.publish(version(1, 1), &document(&[hourly("r", "client", 9)]));
    until("the first attempt", || fake.times("get_rules") > 0).await;
    assert_eq!(limiter.version(), RulesVersion::NONE);
    fake.be(Manners::Count);
    until_in_force(&limiter, version(1, 1)).await;
}

#[tokio::test]
async fn a_gateway_that_does_not_follow_keeps_its_own() {
    let fake = FakeStore::start(1).await;
    fake.publish(version(1, 1), &document(&[hourly("pushed", "client", 9)]));
    let config = RateLimiterConfig {
        baked_in: rules(&[hourly("own", "client", 9)]),
        follows_store: false,
        ..RateLimiterConfig::default()
    };
    let limiter = RateLimiter::new(fake.client(), config);
    assert!(check(&limiter, "k").await.allowed);
    assert_eq!((fake.times("get_rules"), ids(&limiter)), (0, vec!["own".into()]));
}

#[tokio::test]
async fn a_rule_that_did_not_change_keeps_its_handle_and_what_is_known_of_its_keys() {
    let fake = FakeStore::start(1).await;
    let (_store, limiter) = follower(&fake, &[]).await;
    fake.publish(version(1, 1), &document(&[hourly("same", "client", 1), hourly("other", "tenant", 9)]));
    until_in_force(&limiter, version(1, 1)).await;
    assert!(check(&limiter, "k").await.allowed);
    assert_eq!(check(&limiter, "k").await.source(), Source::Store);

    fake.publish(version(1, 2), &document(&[hourly("other", "tenant", 5), hourly("same", "client", 1)]));
    until_in_force(&limiter, version(1, 2)).await;
    let denied = check(&limiter, "k").await;
    assert_eq!((denied.source(), denied.version), (Source::DenyCache, version(1, 2)));
    assert_eq!(fake.times("define"), 1);
}

#[tokio::test]
async fn a_rule_with_other_numbers_is_asked_under_another_handle_and_old_refusals_say_nothing() {
    let fake = FakeStore::start(1).await;
    let (_store, limiter) = follower(&fake, &[]).await;
    fake.publish(version(1, 1), &document(&[hourly("r", "client", 1)]));
    until_in_force(&limiter, version(1, 1)).await;
    assert_eq!([check(&limiter, "k").await.allowed, check(&limiter, "k").await.allowed], [true, false]);
    fake.publish(version(1, 2), &document(&[hourly("r", "client", 3)]));
    until_in_force(&limiter, version(1, 2)).await;
    assert!(check(&limiter, "k").await.allowed);
    let versions: Vec<u64> = fake.defined().iter().map(|defined| defined.rule_version).collect();
    assert_eq!(versions, [1, 2]);
}

#[tokio::test]
async fn without_a_store_new_numbers_go_on_from_what_was_used() {
    let fake = FakeStore::start(1).await;
    let (_store, limiter) = follower(&fake, &[]).await;
    let bucket = |burst| {
        gate::rule("r", "client", &format!(r#""algorithm":"token_bucket","limit":1,"window":"30m","burst":{burst}"#))
    };
    fake.publish(version(1, 1), &document(&[bucket(10)]));
    until_in_force(&limiter, version(1, 1)).await;
    assert!(ask(&limiter, "k", 7).await.allowed);
    fake.publish(version(1, 2), &document(&[bucket(5)]));
    until_in_force(&limiter, version(1, 2)).await;
    fake.stop().await;
    decide(&limiter, Source::Fallback).await;
    assert_eq!(ask(&limiter, "k", 0).await.checks[0].remaining, 3);
}

#[tokio::test]
async fn a_gateway_that_never_met_its_store_enforces_what_is_baked_in() {
    let limiter = limiter(&nowhere(), &[hourly("baked-in", "client", 20)]);
    assert_eq!([check(&limiter, "k").await.allowed, check(&limiter, "k").await.allowed], [true, false]);
}
