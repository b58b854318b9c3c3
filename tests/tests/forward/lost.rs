//! A node that is gone: its keys are unavailable for a bounded time, and nobody else's suffer.

use std::time::{Duration, Instant};

use tallyring::sys::clock::Clock;
use tallyring_tests::cluster::Cluster;
use tallyring_tests::resp::{Connection, command};

use super::play;

/// What the way to a node that is gone may cost on a busy machine: many times of what is waited for it.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn keys_of_a_node_that_is_gone_are_unavailable_and_all_others_are_not() {
    let mut cluster = Cluster::start(3, 2, Clock::start).await;
    let keys: Vec<Vec<String>> = (0..3).map(|at| cluster.keys_of(at).take(20).collect()).collect();
    let address = cluster.nodes[0].resp_addr();
    let check = move |keys: &[String]| {
        let words = |key: &String| vec!["TR.CHECK".into(), key.clone(), "gcra".into(), "9".into(), "1000000".into()];
        let mut door = Connection::open(address);
        door.send(&keys.iter().flat_map(|key| command(&words(key))).collect::<Vec<u8>>());
        keys.iter().map(|_| door.answer()).collect::<Vec<_>>()
    };
    let all = keys.concat();
    let before = play(move || check(&all)).await;
    assert!(before.iter().all(|answer| answer.integers()[0] == 1), "{before:?}");
    cluster.nodes.remove(2).drain().await;
    let gone = keys[2].clone();
    let (said, took) = play(move || {
        let began = Instant::now();
        (check(&gone), began.elapsed())
    })
    .await;
    assert!(said.iter().all(|answer| answer.error().starts_with("UNAVAILABLE TR.CHECK: ")), "{said:?}");
    assert!(took < PATIENCE, "{took:?}");
    let alive = keys[..2].concat();
    let said = play(move || check(&alive)).await;
    assert!(said.iter().all(|answer| answer.integers()[0] == 1), "{said:?}");
    cluster.stop().await;
}
