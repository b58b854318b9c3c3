//! Who votes and who listens, kept as the state says: the leader's steward takes one step after the other until the log's
//! own membership is the members'.
//!
//! The steps follow from what is, not from what was done before: a leader that ends in the middle leaves nothing undone
//! that its successor does not see.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::{BasicNode, ChangeMembers, ServerState};
use tallyring_protocol::NodeId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::health::Healths;
use super::member::Member;
use super::raft::Raft;
use super::voters::{self, Health};
use crate::cluster::heard::Heard;

/// Entries that a listener may be behind and still be made a voter: it catches up while the change is agreed on.
const BEHIND_MAX: u64 = 16;

/// How long a step may take before the steward looks again.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);

/// How often the steward looks, besides whenever something has changed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The log's own membership.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// Who is sent the log, and where.
    pub listed: BTreeMap<NodeId, String>,
    /// Who votes.
    pub voting: BTreeSet<NodeId>,
    /// A change of who votes is half done.
    pub is_changing: bool,
}

/// One step towards what should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send the log to somebody, at this address.
    List(NodeId, String),
    /// Let these vote and no others.
    Elect(BTreeSet<NodeId>),
    /// Send the log to somebody no longer.
    Strike(NodeId),
}

/// The next step from a roll to what the members want; `None` = there is nothing to do, or not yet. `is_current` says of a
/// member that it has the log, nearly.
///
/// A change of who votes is begun only if a majority of those who do, and of those who will, answers: one that cannot be
/// agreed on would be in the way of every other change.
pub fn next_step(
    members: &BTreeMap<NodeId, Member>,
    roll: &Roll,
    is_current: impl Fn(NodeId) -> bool,
    health: impl Fn(NodeId) -> Health,
) -> Option<Step> {
    let unlisted = members.values().find(|member| roll.listed.get(&member.id) != Some(&member.addresses.peer));
    if let Some(member) = unlisted {
        return Some(Step::List(member.id, member.addresses.peer.clone()));
    }
    let able = |id: &NodeId| roll.voting.contains(id) || is_current(*id);
    let candidates: BTreeMap<NodeId, Member> =
        members.iter().filter(|(id, _)| able(id)).map(|(id, member)| (*id, member.clone())).collect();
    let wanted = voters::wanted(&candidates, &roll.voting, &health);
    if !wanted.is_empty() && (wanted != roll.voting || roll.is_changing) {
        let can_agree = [&wanted, &roll.voting].iter().all(|voters| voters::can_agree(voters, &health));
        return can_agree.then_some(Step::Elect(wanted));
    }
    let gone = roll.listed.keys().find(|id| !members.contains_key(id) && !roll.voting.contains(id));
    gone.map(|id| Step::Strike(*id))
}

/// Keeps the roll while this node leads, until `draining`.
pub async fn run(
    raft: Raft,
    states: tokio::sync::watch::Receiver<std::sync::Arc<super::state::State>>,
    acks: Heard,
    draining: CancellationToken,
) {
    let mut metrics = raft.metrics();
    let mut states = states;
    let mut reign = Reign::default();
    loop {
        let step = {
            let metrics = metrics.borrow_and_update();
            let state = states.borrow_and_update();
            let leads = metrics.state == ServerState::Leader;
            let since = reign.since(leads.then_some(metrics.current_term));
            let matched = |id: NodeId| metrics.replication.as_ref()?.get(&id.0)?.map(|log_id| log_id.index);
            let last = metrics.last_log_index.unwrap_or(0);
            let is_current = |id| matched(id).is_some_and(|index| index + BEHIND_MAX >= last);
            let founded = state.cluster().is_some();
            let roll = roll(&metrics);
            // Who has left may vote until it is struck: whether it answers still matters.
            acks.retain(|node| state.members().contains_key(&node) || roll.listed.contains_key(&node));
            let healths = Healths { me: NodeId(metrics.id), acks: &acks, voting: &roll.voting, leads_for: since };
            let health = |id| healths.of(id);
            if leads && founded { next_step(state.members(), &roll, is_current, health) } else { None }
        };
        if let Some(step) = step {
            take(&raft, step).await;
        }
        tokio::select! {
            biased;
            () = draining.cancelled() => return,
            changed = states.changed() => if changed.is_err() { return },
            changed = metrics.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// How long this node leads already.
#[derive(Debug, Default)]
struct Reign(Option<(u64, Instant)>);

impl Reign {
    /// How long, if it leads in this term.
    fn since(&mut self, term: Option<u64>) -> Duration {
        if self.0.map(|(term, _)| term) != term {
            self.0 = term.map(|term| (term, Instant::now()));
        }
        self.0.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }
}

async fn take(raft: &Raft, step: Step) {
    tracing::info!(?step, "the control plane's membership changes");
    let (change, retain) = match step {
        Step::List(id, addr) => (ChangeMembers::SetNodes([(id.0, BasicNode { addr })].into()), true),
        Step::Elect(voters) => (ChangeMembers::ReplaceAllVoters(voters.into_iter().map(|id| id.0).collect()), true),
        Step::Strike(id) => (ChangeMembers::RemoveNodes([id.0].into()), true),
    };
    match tokio::time::timeout(STEP_TIMEOUT, raft.change_membership(change, retain)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the step is taken again"),
        Err(_) => tracing::debug!("the step takes long"),
    }
}

fn roll(metrics: &openraft::RaftMetrics<u64, BasicNode>) -> Roll {
    let membership = metrics.membership_config.membership();
    Roll {
        listed: membership.nodes().map(|(id, node)| (NodeId(*id), node.addr.clone())).collect(),
        voting: membership.voter_ids().map(NodeId).collect(),
        is_changing: membership.get_joint_config().len() > 1,
    }
}

#[cfg(test)]
mod tests {
    use super::super::member::Addresses;
    use super::*;

    const WELL: Health = Health { leads: false, answers: true, is_reliable: true };

    fn members(ids: &[u64]) -> BTreeMap<NodeId, Member> {
        let member =
            |id: &u64| Member::new(NodeId(*id), Addresses { peer: format!("n{id}:1"), ..Addresses::default() });
        ids.iter().map(member).map(|member| (member.id, member)).collect()
    }

    fn ids(ids: &[u64]) -> BTreeSet<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    fn roll(listed: &[u64], voting: &[u64]) -> Roll {
        let listed = listed.iter().map(|id| (NodeId(*id), format!("n{id}:1"))).collect();
        Roll { listed, voting: ids(voting), is_changing: false }
    }

    /// Takes steps until none is left, and returns them.
    fn steps(members: &BTreeMap<NodeId, Member>, mut roll: Roll) -> (Vec<Step>, Roll) {
        let mut taken = Vec::new();
        while let Some(step) = next_step(members, &roll, |id| roll.listed.contains_key(&id), |_| WELL) {
            assert!(taken.len() < 20, "the steward goes around in circles: {taken:?}");
            match step.clone() {
                Step::List(id, address) => drop(roll.listed.insert(id, address)),
                Step::Elect(voters) => (roll.voting, roll.is_changing) = (voters, false),
                Step::Strike(id) => drop(roll.listed.remove(&id)),
            }
            taken.push(step);
        }
        (taken, roll)
    }

    #[test]
    fn a_cluster_grows_and_shrinks_step_by_step() {
        let (taken, grown) = steps(&members(&[1, 2, 3]), roll(&[1], &[1]));
        let list = |id| Step::List(NodeId(id), format!("n{id}:1"));
        assert_eq!(taken, [list(2), list(3), Step::Elect(ids(&[1, 2, 3]))]);
        let (taken, shrunk) = steps(&members(&[2, 3]), grown);
        assert_eq!(taken, [Step::Elect(ids(&[2])), Step::Strike(NodeId(1))]);
        assert_eq!(shrunk, roll(&[2, 3], &[2]));
    }

    #[test]
    fn who_has_moved_is_sent_the_log_there() {
        let moved = Roll { listed: [(NodeId(1), "old:1".into())].into(), ..roll(&[1], &[1]) };
        assert_eq!(next_step(&members(&[1]), &moved, |_| true, |_| WELL), Some(Step::List(NodeId(1), "n1:1".into())));
    }

    #[test]
    fn who_is_behind_does_not_vote_yet() {
        let three = members(&[1, 2, 3]);
        assert_eq!(
            next_step(&three, &roll(&[1, 2, 3], &[1]), |id| id == NodeId(2), |_| WELL),
            None,
            "two would be no better"
        );
        assert_eq!(next_step(&three, &roll(&[1, 2, 3], &[1]), |_| true, |_| WELL), Some(Step::Elect(ids(&[1, 2, 3]))));
    }

    #[test]
    fn what_a_leader_left_half_done_is_ended() {
        let half = Roll { is_changing: true, ..roll(&[1, 2, 3], &[1, 2, 3]) };
        assert_eq!(next_step(&members(&[1, 2, 3]), &half, |_| true, |_| WELL), Some(Step::Elect(ids(&[1, 2, 3]))));
    }

    #[test]
    fn what_cannot_be_agreed_on_is_not_begun() {
        let lost = Health { leads: false, answers: false, is_reliable: false };
        let check = |lost_ones: &[u64], expect: Option<&[u64]>| {
            let health = |id: NodeId| if lost_ones.contains(&id.0) { lost } else { WELL };
            let found = next_step(&members(&[1, 2, 3, 4, 5]), &roll(&[1, 2, 3, 4, 5], &[1, 2, 3]), |_| true, health);
            assert_eq!(found, expect.map(|voters| Step::Elect(ids(voters))), "without {lost_ones:?}");
        };
        check(&[], Some(&[1, 2, 3, 4, 5]));
        check(&[2, 4], Some(&[1, 2, 3, 4, 5]));
        check(&[2, 4, 5], None);
        check(&[2, 3], None);
    }
}
