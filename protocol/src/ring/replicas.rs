//! Who follows whom on the ring, found for every point at once by going backwards around it.

use super::NodeId;

/// The replica of each point: the next point's node that is in another zone than the owner, else that is another node,
/// else the owner itself.
pub(super) fn of<'z>(owners: &[NodeId], zone: impl Fn(NodeId) -> &'z str) -> Vec<NodeId> {
    let (mut by_zone, mut by_node) = (Ahead::NOTHING, Ahead::NOTHING);
    let mut replicas = owners.to_vec();
    // The first time around only says what lies ahead of the last point.
    for index in (0..owners.len()).rev().chain((0..owners.len()).rev()) {
        let owner = owners[index];
        let of_zone = zone(owner);
        replicas[index] = by_zone.other_than(&of_zone).or_else(|| by_node.other_than(&owner)).unwrap_or(owner);
        by_zone.pass(of_zone, owner);
        by_node.pass(owner, owner);
    }
    replicas
}

/// The nearest point ahead, and the nearest one that differs from it in `K`: the nearest that differs from anything is
/// one of these two.
struct Ahead<K> {
    first: Option<(K, NodeId)>,
    other: Option<(K, NodeId)>,
}

impl<K: PartialEq> Ahead<K> {
    const NOTHING: Ahead<K> = Ahead { first: None, other: None };

    fn other_than(&self, key: &K) -> Option<NodeId> {
        [&self.first, &self.other].into_iter().flatten().find(|(ahead, _)| ahead != key).map(|(_, node)| *node)
    }

    /// Takes a step back over a point.
    fn pass(&mut self, key: K, node: NodeId) {
        let before = self.first.replace((key, node));
        if before.as_ref().map(|(before, _)| before) != self.first.as_ref().map(|(key, _)| key) {
            self.other = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Owners as digits clockwise, and the zone of each node as a letter; what follows each point.
    fn check(owners: &str, zones: &'static str, expect: &str) {
        let owners: Vec<NodeId> = owners.bytes().map(|digit| NodeId(u64::from(digit - b'0'))).collect();
        let found = of(&owners, |node| &zones[node.0 as usize..][..1]);
        let found: String = found.into_iter().map(|node| node.0.to_string()).collect();
        assert_eq!(found, expect, "{owners:?}");
    }

    #[test]
    fn the_next_other_node_follows() {
        check("0123", "aaaa", "1230");
        check("0011", "aa", "1100");
        check("0001", "aa", "1110");
        check("0010", "aa", "1101");
        check("01020", "aaa", "10201");
        check("000", "a", "000");
        check("", "", "");
    }

    #[test]
    fn another_zone_comes_first() {
        check("0123", "aabb", "2200");
        check("0123", "abab", "1230");
        check("0120", "aab", "2202");
        check("012", "aba", "121");
    }
}
