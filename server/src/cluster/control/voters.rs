//! Which members vote on changes; the others learn of them.

use std::collections::{BTreeMap, BTreeSet};

use tallyring_protocol::NodeId;

use super::member::Member;

/// Members that vote. More would make every change slower and survive no likelier failure.
pub const VOTERS_MAX: usize = 5;

/// Who should vote: an odd number of members, since an even one survives no more failures than one less would, and of as
/// many zones as there are. Who votes already goes on, as far as that is possible.
///
/// ```
/// use std::collections::{BTreeMap, BTreeSet};
/// use tallyring::cluster::control::voters;
/// assert!(voters::wanted(&BTreeMap::new(), &BTreeSet::new()).is_empty());
/// ```
pub fn wanted(members: &BTreeMap<NodeId, Member>, voting: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let count = match members.len() {
        0 => 0,
        some => (some - 1) / 2 * 2 + 1,
    }
    .min(VOTERS_MAX);
    let mut candidates: Vec<&Member> = members.values().collect();
    candidates.sort_by_key(|member| (!voting.contains(&member.id), member.id));
    let mut chosen: Vec<&Member> = Vec::with_capacity(count);
    while chosen.len() < count {
        let crowd = |member: &Member| chosen.iter().filter(|other| other.zone == member.zone).count();
        let free = candidates.iter().filter(|member| !chosen.iter().any(|other| other.id == member.id));
        let next = free.min_by_key(|member| crowd(member)).expect("there are at least as many members");
        chosen.push(next);
    }
    chosen.into_iter().map(|member| member.id).collect()
}

#[cfg(test)]
mod tests {
    use super::super::member::{Addresses, NodeKey, Status};
    use super::*;

    /// Members 1, 2 … with a letter each for their zones; who votes; who should.
    fn check(zones: &str, voting: &[u64], expect: &[u64]) {
        let member = |(index, zone): (usize, char)| Member {
            id: NodeId(index as u64 + 1),
            key: NodeKey(0),
            addresses: Addresses::default(),
            zone: zone.to_string(),
            weight: 1,
            shards: 1,
            feature_level: 1,
            version: String::new(),
            status: Status::Up,
        };
        let members = zones.chars().enumerate().map(member).map(|member| (member.id, member)).collect();
        let ids = |ids: &[u64]| ids.iter().copied().map(NodeId).collect::<BTreeSet<_>>();
        assert_eq!(wanted(&members, &ids(voting)), ids(expect), "{zones} {voting:?}");
    }

    #[test]
    fn an_odd_number_votes_and_five_at_most() {
        check("", &[], &[]);
        check("a", &[], &[1]);
        check("aa", &[1], &[1]);
        check("aaa", &[1], &[1, 2, 3]);
        check("aaaa", &[1, 2, 3], &[1, 2, 3]);
        check("aaaaaaa", &[1, 2, 3], &[1, 2, 3, 4, 5]);
    }

    #[test]
    fn who_votes_goes_on_and_who_left_does_not() {
        check("aaaa", &[2, 3, 4], &[2, 3, 4]);
        check("aa", &[2, 9, 10], &[2]);
    }

    #[test]
    fn zones_are_spread() {
        check("aaabbc", &[], &[1, 2, 4, 5, 6]);
        check("aaabc", &[1, 2, 3], &[1, 2, 3, 4, 5]);
        check("aabc", &[1, 2], &[1, 3, 4]);
    }
}
