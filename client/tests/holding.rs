//! What is charged together, corrected later or held for a time, against a store that behaves as the test says.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests measure real time and may panic")]

mod fake;

use std::time::{Duration, Instant};

use fake::{FakeStore, Manners, Saying};
use tallyring_client::{
    Algorithm, Ask, Check, Hold, Key, Limit, LimitHandle, Period, Permit, Reservation, Store, StoreError,
};

const MINUTE: Duration = Duration::from_secs(60);

fn key(text: &str) -> Key {
    Key::raw(text.as_bytes()).unwrap()
}

fn define(store: &Store, units: u64) -> LimitHandle {
    let limit = Limit::new(Algorithm::FixedWindow, units, Period::Micros(3_600_000_000), None).unwrap();
    store.define(limit).unwrap()
}

async fn reserve(store: &Store, limit: &LimitHandle, k: &Key, cost: u64) -> Reservation {
    store.reservation(limit, k, Ask::new(cost), MINUTE).await.unwrap().unwrap()
}

async fn acquire(store: &Store, k: &Key) -> Permit {
    store.permit(k, Hold::new(2, MINUTE)).await.unwrap().unwrap()
}

/// Waits until `condition`, at most ten seconds.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "waited for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Long enough for whatever is said in the background to arrive.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(60)).await;
}

#[tokio::test]
async fn checks_that_are_decided_together_are_charged_together_or_not_at_all() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (minute, day) = (define(&store, 2), define(&store, 3));
    let (first, second) = (key("{k}:minute"), key("{k}:day"));
    let checks = [&minute, &day].into_iter().zip([&first, &second]);
    let checks: Vec<Check<'_>> = checks.map(|(limit, key)| Check { limit, key, ask: Ask::new(1) }).collect();
    let mut allowed = Vec::new();
    for _ in 0..4 {
        let joint = store.check_all(&checks).await.unwrap();
        assert_eq!((joint.checks.len(), joint.checks[0].at_us), (2, joint.at_us));
        allowed.push(joint.allowed);
    }
    assert_eq!(allowed, [true, true, false, false]);
    assert_eq!((fake.used(&first), fake.used(&second)), (2, 2));
    assert_eq!((fake.times("define"), fake.times("check_all")), (2, 4));
}

#[tokio::test]
async fn a_number_of_checks_that_cannot_be_is_not_sent() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (limit, key) = (define(&store, 2), key("k"));
    let check = Check { limit: &limit, key: &key, ask: Ask::new(1) };
    for checks in [&[][..], &[check; 17]] {
        let outcome = store.check_all(checks).await;
        assert!(matches!(&outcome, Err(StoreError::Invalid { field, .. }) if field == "checks"), "{outcome:?}");
    }
    assert!(store.check_all(&[check; 16]).await.is_ok());
}

#[tokio::test]
async fn a_name_that_cannot_be_is_not_sent() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (limit, k) = (define(&store, 2), key("k"));
    let field = |outcome: StoreError| match outcome {
        StoreError::Invalid { field, .. } => field,
        other => panic!("{other:?}"),
    };
    for name in [&[][..], &[b'x'; 129]] {
        assert_eq!(field(store.reserve(&limit, &k, name, Ask::new(1), MINUTE).await.unwrap_err()), "id");
        assert_eq!(field(store.settle(&k, name, 1).await.unwrap_err()), "id");
        assert_eq!(field(store.acquire(&k, name, Hold::new(1, MINUTE)).await.unwrap_err()), "holder");
        assert_eq!(field(store.release(&k, name).await.unwrap_err()), "holder");
    }
    assert_eq!(fake.heard(), []);
}

#[tokio::test]
async fn a_settled_reservation_costs_what_was_used() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (limit, k) = (define(&store, 100), key("k"));
    let reservation = reserve(&store, &limit, &k, 80).await;
    assert_eq!((fake.used(&k), reservation.decision().remaining), (80, 20));
    assert!(reservation.settle(30).await.unwrap().is_some());
    a_while().await;
    assert_eq!((fake.used(&k), fake.times("settle")), (30, 1));
}

#[tokio::test]
async fn a_dropped_reservation_costs_what_was_noted() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (limit, k) = (define(&store, 100), key("k"));
    let mut reservation = reserve(&store, &limit, &k, 80).await;
    reservation.note_used(10);
    reservation.note_used(25);
    drop(reservation);
    until("the settle", || fake.used(&k) == 25).await;
}

#[tokio::test]
async fn a_dropped_reservation_that_noted_nothing_keeps_its_estimate() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (limit, k) = (define(&store, 100), key("k"));
    drop(reserve(&store, &limit, &k, 80).await);
    a_while().await;
    assert_eq!((fake.used(&k), fake.times("settle")), (80, 0));
}

#[tokio::test]
async fn a_refused_reservation_has_nothing_to_settle() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (limit, k) = (define(&store, 100), key("k"));
    let denied = store.reservation(&limit, &k, Ask::new(101), MINUTE).await.unwrap().unwrap_err();
    assert!(!denied.allowed);
    a_while().await;
    assert_eq!((fake.used(&k), fake.times("settle")), (0, 0));
}

#[tokio::test]
async fn a_cancelled_reserve_is_settled_to_nothing() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let (limit, k) = (define(&store, 100), key("k"));
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Late(Duration::from_millis(50)));
    let call = store.reservation(&limit, &k, Ask::new(80), MINUTE);
    assert!(tokio::time::timeout(Duration::from_millis(10), call).await.is_err());
    until("the settle", || fake.times("settle") == 1 && fake.used(&k) == 0).await;
}

#[tokio::test]
async fn a_reserve_whose_answer_was_lost_is_sent_again_and_a_check_is_not() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_secs(5));
    let (limit, k) = (define(&store, 100), key("k"));
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::HangUp);
    assert_eq!(store.check(&limit, &k, Ask::new(1)).await, Err(StoreError::ConnectionLost));
    let (outcome, ()) = tokio::join!(store.reserve(&limit, &k, b"id", Ask::new(1), MINUTE), async {
        until("the first attempt", || fake.times("reserve") == 1).await;
        fake.be(Manners::Count);
    });
    assert!(outcome.unwrap().allowed);
    assert_eq!((fake.times("check"), fake.times("reserve")), (1, 2));
}

#[tokio::test]
async fn an_overloaded_store_is_asked_again_for_a_release() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Say(Saying::Overloaded));
    assert_eq!(store.release(&key("k"), b"me").await, Err(StoreError::Overloaded));
    assert!((2..=6).contains(&fake.times("release")), "{}", fake.times("release"));
}

#[tokio::test]
async fn a_dropped_permit_gives_its_slots_back() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let k = key("k");
    let (first, second) = (acquire(&store, &k).await, acquire(&store, &k).await);
    assert_ne!(first.holder(), second.holder());
    let denied = store.permit(&k, Hold::new(2, MINUTE)).await.unwrap().unwrap_err();
    assert_eq!((denied.allowed, denied.in_use), (false, 2));
    drop(first);
    until("the release", || fake.held() == 1).await;
    assert!(second.release().await.unwrap().released);
    a_while().await;
    assert_eq!((fake.held(), fake.times("release")), (0, 2));
}

#[tokio::test]
async fn a_permit_is_renewed_by_its_holder() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let mut permit = acquire(&store, &key("k")).await;
    assert_eq!(permit.renew().await.unwrap().in_use, 1);
    assert_eq!((fake.held(), fake.times("acquire")), (1, 2));
}

#[tokio::test]
async fn a_cancelled_acquire_is_released() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let k = key("k");
    assert!(store.ready(Duration::from_secs(5)).await);
    fake.be(Manners::Late(Duration::from_millis(50)));
    let call = store.permit(&k, Hold::new(2, MINUTE));
    assert!(tokio::time::timeout(Duration::from_millis(10), call).await.is_err());
    until("the release", || fake.times("release") == 1 && fake.held() == 0).await;
}

#[tokio::test]
async fn a_permit_that_is_dropped_outside_of_the_runtime_is_released_too() {
    let fake = FakeStore::start(1).await;
    let store = fake.client();
    let permit = acquire(&store, &key("k")).await;
    std::thread::spawn(move || drop(permit)).join().unwrap();
    until("the release", || fake.held() == 0).await;
}

#[tokio::test]
async fn a_release_is_tried_again_when_the_store_is_back() {
    let fake = FakeStore::start(1).await;
    let store = fake.client_with(|config| config.deadline = Duration::from_millis(40));
    let permit = acquire(&store, &key("k")).await;
    fake.be(Manners::Silent);
    drop(permit);
    until("the first attempt", || fake.times("release") == 1).await;
    fake.be(Manners::Count);
    until("the second attempt", || fake.held() == 0).await;
}
