//! Each change and its refusals; and whatever happens, in any order: what must hold all the same.

use proptest::prelude::*;
use tallyring_protocol::bounds::NODES_MAX;
use tallyring_protocol::topology::WEIGHTS_SUM_MAX;

use super::super::change::{ChangeId, Publish};
use super::super::member::{Addresses, NodeKey, Status};
use super::super::packed::Packed;
use super::recent::RECENT_MAX;
use super::*;

const FOUNDED_US: u64 = 1_700_000_000_000_000;

fn member(id: u64) -> Member {
    let address = |port| format!("node-{id}:{port}");
    let (native, http, resp, peer) = (address(4170), address(4171), address(4172), address(4174));
    Member {
        key: NodeKey(u128::from(id)),
        zone: format!("zone-{}", id % 2),
        shards: 2,
        version: String::new(), // as the golden bytes have it, whatever this program's is
        ..Member::new(NodeId(id), Addresses { native, http, resp, peer })
    }
}

fn founding() -> What {
    let seeds = Seeds { placement: [1; 16], identity: [2; 16] };
    What::Found(Founding { cluster: ClusterId(7), seeds, founder: member(1) })
}

fn publish(text: &str, expect: Option<Vec<(u64, u64)>>) -> What {
    let text = Packed::new(&text.to_owned().into()).unwrap();
    What::Publish(Publish { text, author: "alice".into(), comment: "because".into(), expect })
}

/// A cluster of one, and what is done to it, each change with the next id.
struct Cluster1 {
    state: State,
    next: u128,
}

impl Cluster1 {
    fn new() -> Cluster1 {
        let mut cluster = Cluster1 { state: State::default(), next: 0 };
        assert_eq!(cluster.apply(founding()), Outcome::Done { epoch: FOUNDED_US });
        cluster
    }

    fn apply(&mut self, what: What) -> Outcome {
        self.next += 1;
        self.state.apply(&Change { id: ChangeId(self.next), at_us: FOUNDED_US, what })
    }

    /// Does what must be done.
    #[allow(clippy::needless_pass_by_value, reason = "changes are made where they are handed over")]
    fn done(&mut self, what: What) -> u64 {
        match self.apply(what.clone()) {
            Outcome::Done { epoch } => epoch - FOUNDED_US,
            other => panic!("{what:?}: {other:?}"),
        }
    }

    /// Does what must be refused, and nothing changes.
    #[allow(clippy::needless_pass_by_value, reason = "changes are made where they are handed over")]
    fn refused(&mut self, what: What) -> String {
        let before = (self.state.topology(1), self.state.rules.clone());
        let Outcome::Refused(refusal) = self.apply(what.clone()) else { panic!("{what:?} went through") };
        assert_eq!(before, (self.state.topology(1), self.state.rules.clone()), "{what:?}");
        refusal.to_string()
    }
}

#[test]
fn before_it_is_founded_there_is_no_cluster() {
    let mut state = State::default();
    let change = Change { id: ChangeId(1), at_us: 5, what: What::Join(member(2)) };
    assert_eq!(state.apply(&change), Outcome::Refused(Refusal::NotFounded));
    assert_eq!((state.topology(1), state.epoch()), (None, 0));
}

#[test]
fn a_cluster_is_founded_once() {
    let mut cluster = Cluster1::new();
    assert_eq!(cluster.refused(founding()), "this is cluster 00000000000000000000000000000007 already");
    assert_eq!(cluster.state.topology(0).unwrap().gateways, 1);
}

#[test]
fn members_come_move_and_go_and_each_time_the_epoch_grows() {
    let mut cluster = Cluster1::new();
    assert_eq!(cluster.done(What::Join(member(2))), 1);
    assert_eq!(cluster.done(What::Join(member(2))), 1, "nothing is new about it");
    let moved = Member { zone: "z".into(), weight: 9, status: Status::Down, ..member(2) };
    assert_eq!(cluster.done(What::Join(moved)), 2);
    let known = &cluster.state.members()[&NodeId(2)];
    assert_eq!((&*known.zone, known.weight, known.status), ("z", 1, Status::Up), "its weight is not its own to say");
    assert_eq!(cluster.done(What::Reweigh { node: NodeId(2), weight: 3 }), 3);
    assert_eq!(cluster.done(What::Mark { node: NodeId(2), status: Status::Down }), 4);
    assert_eq!(cluster.done(What::Leave(NodeId(1))), 5);
    assert_eq!(cluster.state.members().keys().collect::<Vec<_>>(), [&NodeId(2)]);
}

#[test]
fn who_cannot_join_is_told_why() {
    let mut cluster = Cluster1::new();
    let mut join = |change: fn(&mut Member), expect: &str| {
        let mut joining = member(2);
        change(&mut joining);
        assert_eq!(cluster.refused(What::Join(joining)), expect);
    };
    join(
        |m| m.id = NodeId(1),
        "node 1 is a member already, from another data folder: give this one another --node-id, or let the old one leave",
    );
    join(
        |m| m.feature_level = 0,
        "the cluster is at feature level 1, this node's program knows levels up to 0: upgrade it first",
    );
    join(|m| m.id = NodeId(1 << 53), "id: below 2^53, so that every JSON reader can hold it");
    join(|m| m.addresses.peer = String::new(), "addresses: host:port, 259 bytes each");
    join(|m| m.zone = "z".repeat(65), "zone: at most 64 bytes");
    join(|m| m.weight = 101, "weight: at most 100");
    join(|m| m.shards = 0, "shards: 1 ..= 1,024");
}

#[test]
fn somebody_is_always_left_to_own_the_keys() {
    let mut cluster = Cluster1::new();
    assert_eq!(cluster.refused(What::Leave(NodeId(1))), "node 1 is the last member: stop it instead");
    assert_eq!(cluster.refused(What::Leave(NodeId(9))), "node 9 is not a member");
    let reweigh = |node, weight| What::Reweigh { node: NodeId(node), weight };
    let last = "node 1 is the last one with a weight: give another one some first";
    assert_eq!(cluster.refused(reweigh(1, 0)), last);
    cluster.done(What::Join(Member { weight: 0, ..member(2) }));
    assert_eq!(cluster.refused(What::Leave(NodeId(1))), last);
    cluster.done(reweigh(2, 1));
    cluster.done(reweigh(1, 0));
    cluster.done(What::Leave(NodeId(1)));
}

#[test]
fn members_and_weights_are_bounded() {
    let mut cluster = Cluster1::new();
    let weight = (WEIGHTS_SUM_MAX / 100) as u32;
    for id in 2..=100 {
        cluster.done(What::Join(Member { weight, ..member(id) }));
    }
    let much = What::Reweigh { node: NodeId(1), weight: weight + 1 };
    assert_eq!(cluster.refused(much), "weight: at most 4000 over all members");
    for id in 101..=NODES_MAX as u64 {
        cluster.done(What::Join(Member { weight: 0, ..member(id) }));
    }
    assert_eq!(cluster.refused(What::Join(member(NODES_MAX as u64 + 1))), "a cluster has at most 1000 members");
}

#[test]
fn the_feature_level_rises_when_everybody_knows_it() {
    let mut cluster = Cluster1::new();
    let raise = |feature_level| What::Raise { feature_level };
    assert_eq!(cluster.refused(raise(1)), "the cluster is at feature level 1 already, and levels only rise");
    assert_eq!(cluster.refused(raise(2)), "node 1's program knows feature levels up to 1: upgrade it first");
    cluster.done(What::Join(Member { feature_level: 2, ..member(1) }));
    cluster.done(raise(2));
    assert_eq!(cluster.state.feature_level(), 2);
}

#[test]
fn rules_are_numbered_and_of_two_pushes_over_one_version_one_goes_through() {
    let mut cluster = Cluster1::new();
    let published = |version, is_new| Outcome::Published { lineage: FOUNDED_US, version, is_new };
    assert_eq!(cluster.apply(publish("one", Some(vec![(0, 0)]))), published(1, true));
    assert_eq!(cluster.refused(publish("two", Some(vec![(0, 0)]))), "version 1 of the rules is live");
    assert_eq!(cluster.apply(publish("one", None)), published(1, false));
    assert_eq!(cluster.apply(publish("two", Some(vec![(FOUNDED_US, 1)]))), published(2, true));
    let texts: Vec<_> = cluster.state.rules().editions().map(|edition| edition.text.as_str()).collect();
    assert_eq!(texts, ["two", "one"]);
}

#[test]
fn who_got_no_answer_asks_again_and_gets_the_first_one() {
    let mut cluster = Cluster1::new();
    let change = Change { id: ChangeId(u128::MAX), at_us: FOUNDED_US, what: publish("one", Some(vec![(0, 0)])) };
    let first = cluster.state.apply(&change);
    assert!(matches!(first, Outcome::Published { version: 1, is_new: true, .. }));
    let before = cluster.state.clone();
    assert_eq!(cluster.state.apply(&change), first);
    assert_eq!(cluster.state, before);
    for _ in 0..RECENT_MAX {
        cluster.done(What::Join(member(2)));
    }
    assert_eq!(cluster.state.recent.iter().count(), RECENT_MAX, "the memory is bounded");
    assert!(matches!(cluster.state.apply(&change), Outcome::Refused(Refusal::Conflict { .. })), "and it forgets");
}

#[test]
fn the_bytes_of_a_state_are_what_they_were() {
    let mut cluster = Cluster1::new();
    cluster.done(What::Join(member(2)));
    cluster.apply(publish("t", None));
    let hex: String = cluster.state.encode().iter().map(|byte| format!("{byte:02x}")).collect();
    let golden = include_str!("state-1.hex");
    assert_eq!(hex, golden.trim(), "another layout is another format: nodes of two versions share a cluster");
}

/// Changes of a few members that come and go, so that they meet each other.
fn whats() -> impl Strategy<Value = What> {
    let id = || (1_u64..6).prop_map(NodeId);
    let joining = (1_u64..6, 0_u128..2, 0_u32..4, 0_u16..3).prop_map(|(id, other, weight, feature_level)| {
        let key = NodeKey(u128::from(id) + other * 10);
        What::Join(Member { key, weight, feature_level, ..member(id) })
    });
    let status = prop_oneof![Just(Status::Up), Just(Status::Down), Just(Status::Draining)];
    let expect = prop_oneof![Just(None), (0_u64..4).prop_map(|version| Some(vec![(FOUNDED_US, version), (0, 0)]))];
    prop_oneof![
        1 => Just(founding()),
        6 => joining,
        3 => id().prop_map(What::Leave),
        3 => (id(), 0_u32..3).prop_map(|(node, weight)| What::Reweigh { node, weight }),
        3 => (id(), status).prop_map(|(node, status)| What::Mark { node, status }),
        1 => (0_u16..3).prop_map(|feature_level| What::Raise { feature_level }),
        4 => ("[a-c]", expect).prop_map(|(text, expect)| publish(&text, expect)),
    ]
}

/// Some ids come twice: changes that were proposed again.
fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (0_u128..60, whats()).prop_map(|(id, what)| Change { id: ChangeId(id), at_us: FOUNDED_US, what });
    prop::collection::vec(change, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_any_order(changes in changes()) {
        let mut state = State::default();
        for change in &changes {
            let before = state.clone();
            let outcome = state.apply(change);
            prop_assert!(state.epoch() >= before.epoch(), "the epoch never falls");
            let told = |state: &State| state.topology(1).map(|topology| topology.nodes);
            prop_assert!(state.epoch() > before.epoch() || told(&state) == told(&before), "no two rings share an epoch");
            if matches!(outcome, Outcome::Refused(_)) {
                prop_assert_eq!((&state.members, &state.rules), (&before.members, &before.rules));
            }
            if let Some(topology) = state.topology(1) {
                let pushed = tallyring_protocol::Topology::from_json(&topology.to_json());
                prop_assert_eq!(pushed.as_ref(), Ok(&topology), "gateways take what they are told");
                prop_assert!(topology.nodes.iter().any(|node| node.weight > 0), "somebody owns the keys");
                prop_assert!(state.members.values().all(|member| member.feature_level >= state.feature_level));
            }
            let mut again = state.clone();
            prop_assert_eq!(again.apply(change), outcome, "a change that was applied once keeps its outcome");
            prop_assert_eq!(&again, &state, "and changes nothing more");
        }
        let copied = State::decode(&state.encode());
        prop_assert_eq!(copied.as_ref(), Ok(&state), "a snapshot is the state");
        let mut replica = State::default();
        changes.iter().for_each(|change| { replica.apply(change); });
        prop_assert_eq!(&replica, &state, "a replica comes to the same");
    }

    #[test]
    fn hostile_bytes_are_no_state_and_end_nobody(bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let _ = State::decode(&bytes);
        let mut cluster = Cluster1::new();
        cluster.apply(publish("text", None));
        let mut whole = cluster.state.encode();
        let at = at.index(whole.len());
        whole[at] ^= 1 << bit;
        let _ = State::decode(&whole); // it may be another state, but none that panics
    }
}
