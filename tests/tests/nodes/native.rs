//! The native protocol: whoever asks the wrong node learns the right one.

use tallyring_client::{Algorithm, Ask, Limit, LimitHandle, Period, Store};
use tallyring_protocol::{Acquire, Charge, NodeId, Parts, Refund, Release, Request, Reserve, Settle};

use super::system::{Cluster, keys, owner_of, until};
use super::wire::{Said, Wire};

/// A bucket that regains nothing while a test runs.
fn bucket(store: &Store, units: u64) -> LimitHandle {
    let period = Period::Micros(400 * 86_400 * 1_000_000);
    store.define(Limit::new(Algorithm::TokenBucket, units, period, None).unwrap()).unwrap()
}

async fn is_allowed(store: &Store, limit: &LimitHandle, key: &tallyring_protocol::Key) -> bool {
    store.check(limit, key, Ask::new(1)).await.unwrap().allowed
}

/// Case clus-owner-01: a node that answered from a count of its own would say yes to half of the calls.
#[tokio::test]
async fn of_thirty_calls_to_two_nodes_one_is_admitted() {
    let cluster = Cluster::start(2).await;
    let stores = [cluster.client_of(0), cluster.client_of(1)];
    for key in keys().take(20) {
        let mut admitted = 0;
        for call in 0..30 {
            let store = &stores[call % 2];
            admitted += u32::from(is_allowed(store, &bucket(store, 1), &key).await);
        }
        assert_eq!(admitted, 1, "{key:?}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_client_of_one_node_asks_the_owner_of_each_key_and_no_other() {
    let cluster = Cluster::start(3).await;
    let store = cluster.client_of(0);
    let limit = bucket(&store, 1);
    let ring = cluster.topology.ring();
    let mut asked = [0; 3];
    for key in keys().take(300) {
        assert!(is_allowed(&store, &limit, &key).await);
        asked[owner_of(&key, &ring).0 as usize - 1] += 1;
    }
    assert_eq!(store.epoch(), Some(cluster.topology.epoch));
    assert!(asked.iter().all(|asked| *asked > 50), "{asked:?}");
    cluster.stop().await;
}

#[tokio::test]
async fn every_request_about_anothers_key_is_told_whose_it_is_and_changes_nothing() {
    let cluster = Cluster::start(2).await;
    let (theirs, mine) = (cluster.key_of(1), cluster.key_of(0));
    let mut wire = Wire::connect(cluster.nodes[0].native_addr()).await;
    wire.define(1).await;
    let (key, owner) = (theirs.as_ref(), &cluster.topology.nodes[1]);
    let charge = |key| Charge { handle: 0, cost: 1, keep: 0, force: false, key };
    let both = Parts::encode([charge(mine.as_ref()), charge(key)].into_iter());
    let requests = [
        Request::Check(charge(key)),
        Request::Take(charge(key)),
        Request::Refund(Refund { handle: 0, cost: 1, charged_at_us: None, key }),
        Request::CheckAll(Parts::from_block(&both).unwrap()),
        Request::Reserve(Reserve { charge: charge(key), ttl_us: 1_000_000, id: b"id" }),
        Request::Settle(Settle { actual: 1, id: b"id", key }),
        Request::Acquire(Acquire { limit: 1, ttl_us: 1_000_000, cost: 1, holder: b"me", key }),
        Request::Release(Release { holder: b"me", key }),
        Request::Reset(key),
    ];
    let expect = Said::WrongOwner { epoch: cluster.topology.epoch, node: owner.id, address: owner.native.clone() };
    for request in requests {
        assert_eq!(wire.ask(&request).await, expect, "{request:?}");
    }
    let store = cluster.client_of(0);
    let limit = bucket(&store, 1);
    assert!(is_allowed(&store, &limit, &theirs).await, "the owner was told nothing");
    assert!(is_allowed(&store, &limit, &mine).await, "half of a check_all was charged");
    cluster.stop().await;
}

#[tokio::test]
async fn a_topology_reaches_those_that_are_connected_and_those_that_come() {
    let cluster = Cluster::strangers(2).await;
    let address = cluster.nodes[0].native_addr();
    let (mut before, store) = (Wire::connect(address).await, cluster.client_of(0));
    assert_eq!(before.topology().await.nodes.len(), 1);
    until("the first topology", || store.epoch().is_some()).await;
    cluster.introduce();
    loop {
        let told = before.topology().await;
        if told.epoch == cluster.topology.epoch {
            assert_eq!(told.nodes, cluster.topology.nodes);
            break;
        }
    }
    assert_eq!(Wire::connect(address).await.topology().await.nodes, cluster.topology.nodes);
    until("the client to learn", || store.epoch() == Some(cluster.topology.epoch)).await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_client_with_an_old_topology_is_led_to_the_owner_within_its_deadline() {
    let cluster = Cluster::strangers(2).await;
    let store = cluster.client_of(0);
    let limit = bucket(&store, 5);
    until("the first topology", || store.epoch().is_some()).await;
    cluster.introduce();
    // Some of these are asked before the push is read, some after: none of them may fail.
    for key in keys().take(200) {
        assert!(is_allowed(&store, &limit, &key).await);
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_node_that_is_gone_costs_the_keys_of_others_nothing() {
    let mut cluster = Cluster::start(2).await;
    let store = cluster.client_of(0);
    let limit = bucket(&store, 100);
    let (here, there) = (cluster.key_of(0), cluster.key_of(1));
    assert!(is_allowed(&store, &limit, &here).await && is_allowed(&store, &limit, &there).await);
    cluster.nodes.remove(1).drain().await;
    let gone = store.check(&limit, &there, Ask::new(1)).await;
    assert!(gone.is_err(), "{gone:?}");
    for _ in 0..50 {
        assert!(is_allowed(&store, &limit, &here).await);
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_node_that_left_names_those_who_stayed() {
    let cluster = Cluster::start(3).await;
    let mut wire = Wire::connect(cluster.nodes[2].native_addr()).await;
    wire.define(1).await;
    let mut smaller = cluster.topology.clone();
    smaller.epoch += 1;
    smaller.nodes.pop();
    cluster.nodes.iter().for_each(|node| node.view().take(smaller.clone()).unwrap());
    while wire.topology().await.epoch != smaller.epoch {}
    let ring = smaller.ring();
    for key in keys().take(50) {
        let charge = Charge { handle: 0, cost: 1, keep: 0, force: false, key: key.as_ref() };
        let said = wire.ask(&Request::Check(charge)).await;
        let Said::WrongOwner { node, .. } = said else { panic!("{said:?}") };
        assert_eq!(node, owner_of(&key, &ring));
        assert_ne!(node, NodeId(3));
    }
    cluster.stop().await;
}
