//! Which members vote on changes; the others learn of them.

use std::collections::{BTreeMap, BTreeSet};

use tallyring_protocol::NodeId;

use super::member::Member;

/// Members that vote. More would make every change slower and survive no likelier failure.
pub const VOTERS_MAX: usize = 5;

/// How a member does, as its leader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// It leads: nobody is more certain to be there.
    pub leads: bool,
    /// It answers now.
    pub answers: bool,
    /// It does so, or did, for long enough to be relied on: who comes and goes must not move votes about.
    pub is_reliable: bool,
}

/// Who should vote: an odd number of members, since an even one survives no more failures than one less would; those that
/// can be relied on before the others, and of as many zones as there are. Who votes already goes on, as far as that is
/// possible. If no majority of these answers, who answers comes before anything else.
///
/// ```
/// use std::collections::{BTreeMap, BTreeSet};
/// use tallyring::cluster::control::voters::{Health, wanted};
/// let health = |_| Health { leads: false, answers: true, is_reliable: true };
/// assert!(wanted(&BTreeMap::new(), &BTreeSet::new(), health).is_empty());
/// ```
pub fn wanted(
    members: &BTreeMap<NodeId, Member>,
    voting: &BTreeSet<NodeId>,
    health: impl Fn(NodeId) -> Health,
) -> BTreeSet<NodeId> {
    let votes = |id: NodeId| voting.contains(&id);
    // A voter that has only just fallen silent is no worse than a member that does not vote yet.
    let is_silent = |id: NodeId| !votes(id) || !health(id).answers;
    let spread =
        choose(members, |id, crowd| (!health(id).is_reliable, crowd, !health(id).leads, is_silent(id), !votes(id), id));
    if can_agree(&spread, &health) {
        return spread;
    }
    choose(members, |id, crowd| (!health(id).answers, crowd, !health(id).leads, !votes(id), id))
}

/// Whether a majority of these voters answers.
pub fn can_agree(voters: &BTreeSet<NodeId>, health: impl Fn(NodeId) -> Health) -> bool {
    answering(voters, health) > voters.len() / 2
}

/// How many of these voters answer.
pub fn answering(voters: &BTreeSet<NodeId>, health: impl Fn(NodeId) -> Health) -> usize {
    voters.iter().filter(|voter| health(**voter).answers).count()
}

/// As many members as should vote, the least first by a key that is made of a member and how many of its zone were chosen
/// before it.
fn choose<K: Ord>(members: &BTreeMap<NodeId, Member>, key: impl Fn(NodeId, usize) -> K) -> BTreeSet<NodeId> {
    let count = members.len().saturating_sub(1) / 2 * 2 + usize::from(!members.is_empty());
    let count = count.min(VOTERS_MAX);
    let mut chosen: BTreeMap<NodeId, &str> = BTreeMap::new();
    while chosen.len() < count {
        let crowd = |member: &Member| chosen.values().filter(|zone| **zone == member.zone).count();
        let free = members.values().filter(|member| !chosen.contains_key(&member.id));
        let next = free.min_by_key(|member| key(member.id, crowd(member))).expect("there are at least as many members");
        chosen.insert(next.id, &next.zone);
    }
    chosen.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::super::member::Addresses;
    use super::*;

    const WELL: Health = Health { leads: false, answers: true, is_reliable: true };
    const SILENT: Health = Health { leads: false, answers: false, is_reliable: true };
    const LEADS: Health = Health { leads: true, ..WELL };
    const LOST: Health = Health { leads: false, answers: false, is_reliable: false };
    const YOUNG: Health = Health { leads: false, answers: true, is_reliable: false };

    /// Members 1, 2 … with a letter each for their zones; who votes; who should.
    fn check(zones: &str, voting: &[u64], expect: &[u64]) {
        check_health(zones, voting, &[], expect);
    }

    /// The same, of members some of whom are not well.
    fn check_health(zones: &str, voting: &[u64], health: &[(u64, Health)], expect: &[u64]) {
        let member = |(index, zone): (usize, char)| Member {
            zone: zone.to_string(),
            ..Member::new(NodeId(index as u64 + 1), Addresses::default())
        };
        let members = zones.chars().enumerate().map(member).map(|member| (member.id, member)).collect();
        let ids = |ids: &[u64]| ids.iter().copied().map(NodeId).collect::<BTreeSet<_>>();
        let health_of = |id| health.iter().find(|(other, _)| id == NodeId(*other)).map_or(WELL, |(_, health)| *health);
        assert_eq!(wanted(&members, &ids(voting), health_of), ids(expect), "{zones} {voting:?} {health:?}");
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

    #[test]
    fn a_voter_that_is_lost_is_replaced_by_one_that_can_be_relied_on() {
        check_health("aaaa", &[1, 2, 3], &[(2, LOST)], &[1, 3, 4]);
        check_health("aaaa", &[1, 2, 3], &[(2, SILENT)], &[1, 2, 3]);
        check_health("aaaa", &[1, 2, 3], &[(2, LOST), (4, YOUNG)], &[1, 2, 3]);
        check_health("aaaa", &[1, 3, 4], &[], &[1, 3, 4]);
        check_health("abca", &[1, 2, 3], &[(2, LOST)], &[1, 3, 4]);
        check_health("aaa", &[1, 2, 3], &[(2, LOST)], &[1, 2, 3]);
    }

    #[test]
    fn who_grows_a_cluster_votes_before_it_can_be_relied_on() {
        check_health("aaa", &[1], &[(2, YOUNG), (3, YOUNG)], &[1, 2, 3]);
    }

    #[test]
    fn of_fewer_voters_those_go_on_that_answer() {
        check_health("aa", &[1, 2], &[(1, SILENT)], &[2]);
        check_health("ab", &[1, 2], &[(1, SILENT)], &[2]);
        check_health("ab", &[1, 2], &[(2, LEADS)], &[2]);
        check_health("abca", &[1, 2, 3, 4], &[(2, SILENT), (3, SILENT)], &[1, 2, 4]);
    }
}
