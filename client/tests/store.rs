//! The store's client against a store that behaves as the test says.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;

use std::time::{Duration, Instant};

use fake::{FakeStore, Manners, SEED, Saying};
use tallyring_client::{Algorithm, Ask, Key, Limit, LimitHandle, Period, Store, StoreConfig, StoreError};
use tallyring_protocol::{GoodbyeCode, Node, NodeId, shard_of};

const ONE: Ask = Ask::new(1);

fn key(text: &str) -> Key {
    Key::raw(text.as_bytes()).unwrap()
}

fn per_hour(units: u64) -> Limit {
    Limit::new(Algorithm::FixedWindow, units, Period::Micros(3_600_000_000), None).unwrap()
}

fn define(store: &Store, units: u64) -> LimitHandle {
    store.define(per_hour(units)).unwrap()
}

async fn check(store: &Store, limit: &LimitHandle, text: &str) -> Result<bool, StoreError> {
    store.check(limit, &key(text), ONE).await.map(|decision| decision.allowed)
}

/// Waits until `condition`, at most ten seconds.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn the_first_call_waits_for_its_connection() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    assert_eq!(check(&store, &define(&store, 1), "k").await, Ok(true));
    assert_eq!(check(&store, &define(&store, 1), "k").await, Ok(false));
}

#[tokio::test]
async fn every_command_has_its_answer() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let limit = define(&store, 10);
    let k = key("k");
    assert_eq!(store.take(&limit, &k, 4, 0).await.unwrap().granted, 4);
    let decision = store.check(&limit, &k, Ask::new(5)).await.unwrap();
    assert_eq!((decision.remaining, decision.at_us), (1, 1_600_000_000_000_000));
    assert_eq!(store.refund(&limit, &k, 5, Some(decision.at_us)).await.unwrap().remaining, 6);
    assert_eq!(store.reset(&k).await, Ok(true));
    assert_eq!(store.reset(&k).await, Ok(false));
    assert_eq!(store.ping().await, Ok(()));
    assert_eq!((store.gateways(), store.epoch()), (Some(1), Some(1)));
}

#[tokio::test]
async fn a_limit_is_explained_once_a_connection() {
    let fake = FakeStore::start(2).await;
    let store = fake.client();
    let limit = define(&store, 100);
    for n in 0..50 {
        assert_eq!(check(&store, &limit, &format!("k{n}")).await, Ok(true));
    }
    assert_eq!((fake.times("define"), fake.times("check")), (2, 50));
}

#[tokio::test]
async fn a_key_travels_on_the_connection_of_its_shard() {
    let fake = FakeStore::start(3).await;
    let store = fake.client();
    let limit = define(&store, 100);
    for n in 0..60 {
        assert_eq!(check(&store, &limit, &format!("k{n}")).await, Ok(true));
    }
    let checks = fake.heard().into_iter().filter_map(|heard| heard.key.map(|key| (heard.shard, key)));
    let shards: Vec<u16> = checks
        .map(|(shard, key)| {
            assert_eq!(shard, shard_of(SEED.place(key.as_ref()), 3));
            shard
        })
        .collect();
    assert!([0, 1, 2].iter().all(|shard| shards.contains(shard)));
}

#[tokio::test]
async fn concurrent_callers_share_one_connection_and_each_gets_its_own_answer() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_secs(5));
    let limit = define(&store, 3);
    let mut calls = tokio::task::JoinSet::new();
    for caller in 0..200 {
        let (store, limit) = (store.clone(), limit.clone());
        calls.spawn(async move {
            let mut allowed = 0;
            for _ in 0..5 {
                allowed += u32::from(check(&store, &limit, &format!("k{caller}")).await.unwrap());
            }
            allowed
        });
    }
    assert!(calls.join_all().await.iter().all(|allowed| *allowed == 3));
    assert_eq!(fake.open(), 1);
}

#[tokio::test]
async fn a_silent_store_costs_a_call_its_deadline_and_the_check_is_sent_once() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(30));
    let limit = define(&store, 9);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Silent);
    let start = Instant::now();
    assert_eq!(check(&store, &limit, "k").await, Err(StoreError::Timeout));
    assert!(start.elapsed() >= Duration::from_millis(30), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_millis(300), "{:?}", start.elapsed());
    assert_eq!(fake.times("check"), 1);
}

#[tokio::test]
async fn a_late_answer_is_dropped_and_the_next_call_gets_its_own() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(400));
    let limit = define(&store, 1);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Late(Duration::from_millis(800)));
    let call = tokio::spawn({
        let (store, limit) = (store.clone(), limit.clone());
        async move { check(&store, &limit, "k").await }
    });
    until("the question", || fake.times("check") == 1).await;
    tokio::time::pause(); // from here on time passes when nothing else happens: the timeout, then the answer
    assert_eq!(call.await.unwrap(), Err(StoreError::Timeout));
    tokio::time::sleep(Duration::from_millis(500)).await;
    tokio::time::resume();
    fake.be(Manners::Count);
    assert_eq!(check(&store, &limit, "k").await, Ok(false), "the late check was charged");
    assert_eq!(check(&store, &limit, "other").await, Ok(true));
}

#[tokio::test]
async fn one_call_more_than_may_be_under_way_fails_at_once() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.in_flight_max = 4);
    let limit = define(&store, 9);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Late(Duration::from_millis(50)));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (store, limit) = (store.clone(), limit.clone());
        calls.spawn(async move { check(&store, &limit, "k").await });
    }
    let outcomes = calls.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Ok(true)).count(), 4);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Err(StoreError::Busy)).count(), 6);
}

#[tokio::test]
async fn cancelled_callers_leak_nothing() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.in_flight_max = 8);
    let limit = define(&store, 1_000_000);
    assert!(store.ready(Duration::from_secs(5)).await);
    for n in 0..500u64 {
        let call = store.check(&limit, &KEY, ONE);
        let _ = tokio::time::timeout(Duration::from_micros(n % 7 * 20), call).await;
    }
    until("the answers to cancelled calls", || fake.times("check") > 0).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, limit) = (store.clone(), limit.clone());
        calls.spawn(async move { check(&store, &limit, "k").await });
    }
    assert!(calls.join_all().await.iter().all(|outcome| *outcome == Ok(true)));
}

static KEY: std::sync::LazyLock<Key> = std::sync::LazyLock::new(|| key("k"));

#[tokio::test]
async fn a_wrong_owner_names_the_right_one_which_is_asked_once() {
    let (wrong, right) = (FakeStore::start(1).await, FakeStore::start_at("127.0.0.1:0", 2, 1).await);
    let store = wrong.client();
    let limit = define(&store, 1);
    wrong.be(Manners::Say(Saying::WrongOwner { epoch: 1, node: 2, address: right.address() }));
    right.tell(|topology| topology.epoch = 0);
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    assert_eq!((wrong.times("check"), right.times("check")), (1, 1));

    right.be(Manners::Say(Saying::WrongOwner { epoch: 1, node: 1, address: wrong.address() }));
    let outcome = check(&store, &limit, "k").await;
    assert!(matches!(outcome, Err(StoreError::WrongOwner { node: NodeId(1), .. })), "{outcome:?}");
    assert_eq!((wrong.times("check"), right.times("check")), (2, 2));
}

#[tokio::test]
async fn a_newer_word_about_the_owner_is_followed_further() {
    let first = FakeStore::start(1).await;
    let [second, third] =
        [FakeStore::start_at("127.0.0.1:0", 2, 1).await, FakeStore::start_at("127.0.0.1:0", 3, 1).await];
    let store = first.client();
    let limit = define(&store, 1);
    [&second, &third].iter().for_each(|fake| fake.tell(|topology| topology.epoch = 0)); // connecting teaches nothing
    first.be(Manners::Say(Saying::WrongOwner { epoch: 2, node: 2, address: second.address() }));
    second.be(Manners::Say(Saying::WrongOwner { epoch: 3, node: 3, address: third.address() }));
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    assert_eq!([&first, &second, &third].map(|fake| fake.times("check")), [1, 1, 1]);
}

#[tokio::test]
async fn a_node_that_is_behind_is_asked_again() {
    let fake = FakeStore::start(1).await;
    fake.tell(|topology| topology.epoch = 7);
    let store = fake.client();
    let limit = define(&store, 1);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::SayOnce(Saying::WrongOwner { epoch: 6, node: 9, address: "127.0.0.1:1".to_owned() }));
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    assert_eq!(fake.times("check"), 2);
}

#[tokio::test]
async fn a_moving_key_is_asked_for_again_within_the_deadline() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let limit = define(&store, 9);
    fake.be(Manners::Say(Saying::Moving { retry_us: 60_000 }));
    let (outcome, ()) = tokio::join!(check(&store, &limit, "k"), async {
        until("the first attempt", || fake.times("check") == 1).await;
        fake.be(Manners::Count);
    });
    assert_eq!((outcome, fake.times("check")), (Ok(true), 2));

    fake.be(Manners::Say(Saying::Moving { retry_us: 10_000_000 }));
    assert_eq!(check(&store, &limit, "k").await, Err(StoreError::Moving { retry_us: 10_000_000 }));
}

#[tokio::test]
async fn a_refusal_is_told_as_it_is_and_not_asked_again() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let limit = define(&store, 9);
    let invalid = StoreError::Invalid { field: "limit".into(), reason: "none of ours".into() };
    let cases = [
        (Saying::Overloaded, StoreError::Overloaded),
        (Saying::Full, StoreError::Full),
        (Saying::Unavailable, StoreError::Unavailable),
        (Saying::Invalid, invalid),
    ];
    for (n, (saying, error)) in cases.into_iter().enumerate() {
        fake.be(Manners::Say(saying));
        assert_eq!(check(&store, &limit, "k").await, Err(error));
        assert_eq!(fake.times("check"), n + 1);
    }
}

#[tokio::test]
async fn a_lost_connection_fails_its_calls_and_comes_back() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let limit = define(&store, 9);
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    fake.be(Manners::HangUp);
    assert_eq!(check(&store, &limit, "k").await, Err(StoreError::ConnectionLost));
    fake.be(Manners::Count);
    assert_eq!(
        check(&store, &limit, "k").await,
        Ok(true),
        "waits for the new connection, and explains the limit again"
    );
    assert_eq!((fake.times("check"), fake.times("define")), (3, 2));
}

#[tokio::test]
async fn a_store_that_is_down_costs_nothing_and_is_found_when_it_is_up() {
    let fake = FakeStore::start(1).await;
    let address = fake.address();
    let store = fake.client_with(|config| config.deadline = Duration::from_secs(5));
    let limit = define(&store, 9);
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    fake.stop().await;
    until("the connection to be lost", || !store.is_connected()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    assert_eq!(check(&store, &limit, "k").await, Err(StoreError::Unreachable));
    assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());

    let back = FakeStore::start_at(&address, 1, 1).await;
    until("the connection", || store.is_connected()).await;
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    assert_eq!(back.times("define"), 1);
}

#[tokio::test]
async fn a_store_that_never_was_up_is_unreachable_at_once() {
    let store = Store::open(StoreConfig { seeds: vec!["127.0.0.1:1".into()], ..StoreConfig::default() });
    let limit = define(&store, 9);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(check(&store, &limit, "k").await, Err(StoreError::Unreachable));
    assert_eq!(store.ping().await, Err(StoreError::Unreachable));
    assert_eq!((store.gateways(), store.epoch(), store.is_connected()), (None, None, false));
}

#[tokio::test]
async fn the_second_seed_is_asked_when_the_first_is_silent() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.seeds.insert(0, "127.0.0.1:1".into()));
    assert_eq!(check(&store, &define(&store, 9), "k").await, Ok(true));
}

#[tokio::test]
async fn a_streak_of_timeouts_opens_the_breaker_and_an_answer_closes_it() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(100));
    let limit = define(&store, 1_000);
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Say(Saying::Overloaded));
    for _ in 0..8 {
        assert_eq!(check(&store, &limit, "k").await, Err(StoreError::Overloaded));
    }
    assert_eq!(check(&store, &limit, "k").await, Err(StoreError::BreakerOpen));
    assert_eq!(fake.times("check"), 8);
    fake.be(Manners::Count);
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
}

#[tokio::test]
async fn full_and_invalid_do_not_open_the_breaker() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let limit = define(&store, 9);
    for saying in [Saying::Full, Saying::Invalid] {
        fake.be(Manners::Say(saying));
        for _ in 0..20 {
            assert!(check(&store, &limit, "k").await.is_err());
        }
    }
    assert_eq!(fake.times("check"), 40);
}

#[tokio::test]
async fn a_peer_that_answers_nothing_any_more_is_replaced() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    assert!(store.ready(Duration::from_secs(5)).await);
    let welcomed = fake.welcomed();
    fake.be(Manners::Silent);
    until("another connection", || fake.welcomed() > welcomed).await;
}

#[tokio::test]
async fn a_refused_token_is_no_connection() {
    let fake = FakeStore::start(1).await;
    fake.be(Manners::Refuse(GoodbyeCode::Unauthorized));
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(50));
    assert_eq!(check(&store, &define(&store, 9), "k").await, Err(StoreError::Unreachable));
}

#[tokio::test]
async fn a_new_topology_moves_keys_to_the_new_node() {
    let (old, new) = (FakeStore::start(1).await, FakeStore::start_at("127.0.0.1:0", 2, 1).await);
    let store = old.client();
    let limit = define(&store, 1_000);
    assert_eq!(check(&store, &limit, "k").await, Ok(true));
    let newcomer = Node { native: new.address(), id: NodeId(2), ..old.topology().nodes[0].clone() };
    old.tell(|topology| {
        topology.epoch = 2;
        topology.nodes.push(newcomer);
    });
    old.be(Manners::HangUp); // the next connection is told
    let _ = check(&store, &limit, "k").await;
    old.be(Manners::Count);
    assert!(store.ready(Duration::from_secs(5)).await);
    until("the newer topology", || store.epoch() == Some(2)).await;
    assert!(store.ready(Duration::from_secs(5)).await);
    let ring = old.topology().ring();
    for n in 0..40 {
        let k = key(&format!("k{n}"));
        let (olds, news) = (old.times("check"), new.times("check"));
        assert!(store.check(&limit, &k, ONE).await.is_ok());
        let owner = ring.owner(SEED.place(k.as_ref())).unwrap();
        let asked = if new.times("check") > news { NodeId(2) } else { NodeId(1) };
        assert_eq!((asked, old.times("check") + new.times("check")), (owner, olds + news + 1));
    }
}

#[tokio::test]
async fn the_last_clone_closes_the_connections() {
    let fake = FakeStore::start(2).await;
    let store = fake.client();
    assert!(store.ready(Duration::from_secs(5)).await);
    let clone = store.clone();
    drop(store);
    assert_eq!(clone.ping().await, Ok(()));
    drop(clone);
    until("the connections to close", || fake.open() == 0).await;
}
