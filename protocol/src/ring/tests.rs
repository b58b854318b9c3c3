//! The ring as a whole: shares, moves, replicas. Bounds are those that operators are promised.

use std::collections::BTreeMap;

use super::*;

fn nodes(n: u64) -> impl Iterator<Item = (NodeId, u32)> {
    (1..=n).map(|id| (NodeId(id), 1))
}

fn seed(n: u8) -> PlacementSeed {
    PlacementSeed([n; 16])
}

/// Placements spread evenly over the ring.
fn placements(n: u64) -> impl Iterator<Item = Placement> {
    (0..n).map(move |i| Placement(i * (u64::MAX / n)))
}

/// What each node owns of the whole circle, exactly: the arcs before its points.
fn shares(s: u8, members: impl IntoIterator<Item = (NodeId, u32)>) -> BTreeMap<NodeId, u128> {
    let members = members.into_iter().map(|member| (member.0, member.into())).collect();
    let points = draw::points(&members, |node, index| draw::point(&seed(s), node, index));
    let mut owned: BTreeMap<NodeId, u128> = BTreeMap::new();
    let mut before = *points.keys().next_back().unwrap();
    for (at, owner) in points {
        *owned.entry(owner).or_default() += u128::from(at.wrapping_sub(before));
        before = at;
    }
    owned
}

const CIRCLE: u128 = 1 << 64;

/// The share of a node, in hundredths of what each of `n` equal nodes would have.
fn percent(share: u128, n: u128) -> u128 {
    share * n * 100 / CIRCLE
}

#[test]
fn the_order_of_nodes_does_not_matter() {
    let forward = Ring::new(&seed(1), nodes(5));
    let backward = Ring::new(&seed(1), nodes(5).collect::<Vec<_>>().into_iter().rev());
    assert!(placements(10_000).all(|p| forward.successors(p) == backward.successors(p)));
}

#[test]
fn nine_equal_nodes_stay_within_a_tenth_of_their_share() {
    for s in 0..100 {
        let shares = shares(s, nodes(9));
        assert_eq!(shares.values().sum::<u128>(), CIRCLE);
        let percents: Vec<u128> = shares.values().map(|share| percent(*share, 9)).collect();
        assert!(percents.len() == 9 && percents.iter().all(|p| (90..=110).contains(p)), "seed {s}: {percents:?}");
    }
}

/// Case clus-ring-01: the report asked for 27 to 40 percent, so that a third is meant.
#[test]
fn three_nodes_own_a_third_each_of_ten_thousand_keys() {
    let ring = Ring::new(&seed(7), nodes(3));
    let mut keys: BTreeMap<NodeId, u32> = BTreeMap::new();
    for n in 0..10_000_u32 {
        let placement = seed(7).place(crate::Key::new(&n.to_be_bytes(), b"key").unwrap().as_ref());
        *keys.entry(ring.owner(placement).unwrap()).or_default() += 1;
    }
    assert!(keys.values().all(|keys| (2_700..=4_000).contains(keys)), "{keys:?}");
}

/// Case clus-ring-03: rounding once left the smallest node without a point, and nothing could be replicated.
#[test]
fn the_smallest_node_has_its_place_beside_the_largest() {
    let weights = [(NodeId(1), WEIGHT_MAX), (NodeId(2), WEIGHT_MAX), (NodeId(3), 1)];
    let ring = Ring::new(&seed(2), weights);
    assert!(placements(500).all(|p| {
        let mut found = ring.successors(p);
        found.sort_unstable();
        found == [NodeId(1), NodeId(2), NodeId(3)]
    }));
}

#[test]
fn a_joining_node_takes_little_more_than_its_share_and_moves_nothing_between_others() {
    for s in 0..100 {
        let (before, after) = (shares(s, nodes(3)), shares(s, nodes(4)));
        let taken = after[&NodeId(4)];
        assert!(percent(taken, 4) <= 130, "seed {s}: {} % of a fourth", percent(taken, 4));
        let lost: u128 = before.iter().map(|(node, share)| share - after[node]).sum();
        assert_eq!(lost, taken, "seed {s}: nobody gained but the newcomer");
    }
}

#[test]
fn a_weight_is_a_share() {
    let shares = shares(6, [(NodeId(1), 1), (NodeId(2), 3), (NodeId(3), 0)]);
    assert!(percent(shares[&NodeId(2)], 4).abs_diff(300) < 20, "{shares:?}");
    assert!(!shares.contains_key(&NodeId(3)), "no weight, no point");
}

#[test]
fn a_point_belongs_to_its_node_and_the_next_placement_does_not_have_to() {
    let ring = Ring::new(&seed(4), nodes(3));
    for node in 1..=3 {
        assert_eq!(ring.owner(Placement(draw::point(&seed(4), NodeId(node), 17))), Some(NodeId(node)));
    }
    assert_eq!(ring.owner(Placement(u64::MAX)), ring.owner(Placement(0)));
}

/// The replica as its definition says it, point by point.
fn replica_by_hand(ring: &Ring, members: &[RingMember<'_>], placement: Placement) -> Option<NodeId> {
    let from = ring.index(placement)?;
    let of = |node: NodeId| *members.iter().find(|member| member.id == node).unwrap();
    let owner = of(ring.owners[from]);
    let clockwise = || ring.owners[from..].iter().chain(&ring.owners[..from]).map(|node| of(*node));
    let other = clockwise().find(|m| m.zone != owner.zone).or_else(|| clockwise().find(|m| m.id != owner.id));
    other.map(|member| member.id)
}

#[test]
fn the_replica_is_another_node_and_stands_in_another_zone_if_there_is_one() {
    for zones in [["", "", "", "", ""], ["a", "a", "b", "b", "c"], ["a", "a", "a", "a", "b"], ["", "a", "", "", ""]] {
        let member = |(index, zone)| RingMember { id: NodeId(index as u64 + 1), weight: 1 + index as u32 % 2, zone };
        let members: Vec<RingMember<'_>> = zones.into_iter().enumerate().map(member).collect();
        let ring = Ring::new(&seed(9), members.iter().copied());
        for placement in placements(2_000) {
            let successors = ring.successors(placement);
            assert_eq!(ring.replica(placement), replica_by_hand(&ring, &members, placement), "{zones:?}");
            assert_eq!([ring.owner(placement), ring.replica(placement)], [0, 1].map(|n| successors.get(n).copied()));
            assert_eq!(successors.len(), 5);
        }
    }
}

#[test]
fn a_ring_without_nodes_has_no_owner_and_a_node_alone_no_replica() {
    for nodes in [vec![], vec![(NodeId(1), 0)]] {
        let ring = Ring::new(&seed(5), nodes);
        assert_eq!((ring.owner(Placement(1)), ring.replica(Placement(1))), (None, None));
        assert!(ring.successors(Placement(1)).is_empty());
    }
    let alone = Ring::new(&seed(5), [(NodeId(1), 1), (NodeId(2), 0)]);
    assert_eq!((alone.owner(Placement(1)), alone.replica(Placement(1))), (Some(NodeId(1)), None));
    assert_eq!(alone.successors(Placement(1)), [NodeId(1)]);
}

#[test]
fn shards_split_the_low_half_evenly() {
    assert_eq!(shard_of(Placement(0), 1), 0);
    assert_eq!(shard_of(Placement(u64::MAX), 1), 0);
    assert_eq!(shard_of(Placement(0x8000_0000), 2), 1);
    assert_eq!(shard_of(Placement(0x7FFF_FFFF), 2), 0);
    assert_eq!(shard_of(Placement(u64::MAX), 1_024), 1_023);
}
