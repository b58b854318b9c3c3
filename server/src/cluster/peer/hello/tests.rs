//! Each reason to refuse a call, in the caller's words.

use super::*;
use crate::cluster::control::change::{Change, ChangeId, Founding, Seeds, What};
use crate::cluster::control::member::{Addresses, Member, NodeKey};
use crate::tokens::{TokenHash, Tokens};

fn introduction(node: u64, cluster: Option<u128>, tokens: Tokens) -> Introduction {
    let mut state = State::default();
    if let Some(cluster) = cluster {
        let address = || "a:1".to_owned();
        let founder = Member {
            key: NodeKey(1),
            ..Member::new(NodeId(1), Addresses { native: address(), http: address(), resp: address(), peer: address() })
        };
        let seeds = Seeds { placement: [0; 16], identity: [0; 16] };
        let what = What::Found(Founding { cluster: ClusterId(cluster), seeds, founder });
        state.apply(&Change { id: ChangeId(1), at_us: 1, what });
    }
    Introduction {
        identity: Identity { node: NodeId(node), key: NodeKey(u128::from(node)) },
        token: "p".into(),
        tokens: Arc::new(LiveTokens::new(tokens)),
        certificates: None,
        states: watch::channel(Arc::new(state)).1,
        standings: watch::channel(Standing::default()).1,
        is_taken_in: Arc::default(),
        dismissed: Arc::new(watch::channel(false).0),
        tally: Arc::default(),
    }
}

fn check(change: impl FnOnce(&mut Hello), expect: Option<&str>) {
    let tokens = Tokens { peer: vec![TokenHash::of("p")], ..Tokens::default() };
    let (caller, called) = (introduction(2, Some(7), Tokens::default()), introduction(1, Some(7), tokens));
    let mut hello = caller.hello(Some(NodeId(1)), Purpose::Control);
    change(&mut hello);
    match called.greet(&hello) {
        Greeting::Welcome { node, .. } => assert_eq!((node, None), (NodeId(1), expect)),
        Greeting::Refused(reason) => assert_eq!(Some(reason.to_string().as_str()), expect),
    }
}

#[test]
fn who_is_refused_is_told_why() {
    check(|_| (), None);
    check(|hello| hello.to = None, None);
    check(|hello| hello.cluster = None, None);
    check(|hello| hello.feature_level = 9, None);
    check(|hello| hello.token = "x".into(), Some("the peer token is not valid there"));
    check(
        |hello| hello.version = 2,
        Some("it speaks version 1 of the peer protocol, this program 2: upgrade one version at a time"),
    );
    check(
        |hello| hello.cluster = Some(ClusterId(8)),
        Some(
            "it is of cluster 00000000000000000000000000000007, this node's data folder of cluster \
             00000000000000000000000000000008: give another --join or another --data",
        ),
    );
    check(|hello| hello.to = Some(NodeId(3)), Some("node 1 is there, not node 3"));
    check(|hello| hello.from = NodeId(1), Some("it is node 1 itself: give this node another --node-id"));
    check(
        |hello| hello.feature_level = 0,
        Some("the cluster is at feature level 1, this node's program knows levels up to 0: upgrade it first"),
    );
}

#[test]
fn a_node_in_no_cluster_takes_calls_once_it_was_taken_in() {
    let (caller, called) = (introduction(2, Some(7), Tokens::default()), introduction(3, None, Tokens::default()));
    let greeting = || called.greet(&caller.hello(Some(NodeId(3)), Purpose::Control));
    assert!(matches!(greeting(), Greeting::Refused(Rejection::NotTakenIn { id: NodeId(3) })));
    called.is_taken_in.store(true, Ordering::Release);
    assert!(matches!(greeting(), Greeting::Welcome { .. }));
}

#[test]
fn no_secret_is_shown() {
    assert!(
        !format!(
            "{:?}",
            Hello { token: "s3cret".into(), ..introduction(1, None, Tokens::default()).hello(None, Purpose::Control) }
        )
        .contains("s3cret")
    );
}
