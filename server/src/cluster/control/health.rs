//! How the members do, as their leader sees it: by when they last answered it.

use std::collections::BTreeSet;
use std::time::Duration;

use tallyring_protocol::NodeId;

use super::voters::Health;
use crate::cluster::heard::Heard;

/// A member answers if it did within this time: twelve heartbeats, or two elections.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_millis(360);

/// A voter that was silent for so long is lost, and replaced if there is somebody to take its place.
pub(super) const LOST_AFTER: Duration = Duration::from_secs(5);

/// A member that does not vote has to have answered for so long to take a lost voter's place.
pub(super) const STEADY_AFTER: Duration = Duration::from_secs(10);

/// What a leader knows of its members.
#[derive(Debug)]
pub(super) struct Healths<'a> {
    /// The leader.
    pub(super) me: NodeId,
    /// Who answered it.
    pub(super) acks: &'a Heard,
    /// Who votes.
    pub(super) voting: &'a BTreeSet<NodeId>,
    /// How long it leads: nobody can have been silent for longer.
    pub(super) leads_for: Duration,
}

impl Healths<'_> {
    /// How a member does.
    pub(super) fn of(&self, id: NodeId) -> Health {
        let leads = id == self.me;
        let answers = leads || self.acks.is_alive(id, ANSWERED_WITHIN);
        let is_reliable = match self.voting.contains(&id) {
            _ if leads => true,
            true => self.leads_for < LOST_AFTER || self.acks.is_alive(id, LOST_AFTER),
            false => self.acks.is_steady(id, STEADY_AFTER),
        };
        Health { leads, answers, is_reliable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_voter_is_lost_after_a_while_and_another_member_steady_after_a_longer_one() {
        let (acks, voting) = (Heard::default(), BTreeSet::from([NodeId(1), NodeId(2)]));
        let mut leads_for = Duration::ZERO;
        let mut seen = Vec::new();
        for _ in 0..12 {
            acks.note(NodeId(3));
            tokio::time::advance(Duration::from_secs(1)).await;
            leads_for += Duration::from_secs(1);
            acks.note(NodeId(3));
            let healths = Healths { me: NodeId(1), acks: &acks, voting: &voting, leads_for };
            assert_eq!(healths.of(NodeId(1)), Health { leads: true, answers: true, is_reliable: true });
            assert!(!healths.of(NodeId(2)).answers && healths.of(NodeId(3)).answers);
            seen.push((healths.of(NodeId(2)).is_reliable, healths.of(NodeId(3)).is_reliable));
        }
        let none = [(true, false), (false, false), (false, true)];
        let counts = none.map(|health| seen.iter().filter(|seen| **seen == health).count());
        assert_eq!((counts, seen.is_sorted_by_key(|seen| none.iter().position(|of| of == seen))), ([4, 5, 3], true));
    }
}
