//! Where questions of other nodes are answered, and where changes are proposed.

use std::time::Duration;

use openraft::ServerState;
use openraft::error::{ClientWriteError, RaftError};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use tallyring_protocol::NodeId;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::change::{Change, What};
use super::health::Healths;
use super::outcome::{Outcome, Refusal};
use super::raft::{Raft, Types};
use super::timing::Timing;
use super::vigil::Vigil;
use super::voters;
use crate::cluster::errand::{Guest, Guests};
use crate::cluster::heard::Heard;
use crate::cluster::peer::hello::Introduction;
use crate::cluster::peer::line::{CallError, Line};
use crate::cluster::peer::message::{Answer, Ask, Proposed, Whereabouts};
use crate::cluster::peer::reception::Host;
use crate::cluster::pulse::Pulse;
use crate::sys::defect::{self, Defect};

/// A node's desk.
#[derive(Clone)]
pub struct Desk {
    pub(super) raft: Raft,
    pub(super) introduction: Introduction,
    pub(super) acks: Heard,
    pub(super) pulse: Pulse,
    pub(super) timing: Timing,
    /// Whether what this node promises outlives its process.
    pub(super) is_lasting: bool,
    /// Hears the leader's calls.
    pub(super) vigil: Vigil,
    /// Who takes calls over that are for errands.
    pub(super) guests: Guests,
}

/// Why nobody can say what became of a change.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// Nobody leads, or cannot be reached: the change may be agreed on later all the same.
    #[error("no majority of the cluster has answered within {} ms ({last}); the change may still come into force", within.as_millis())]
    NoAnswer {
        /// How long it was tried.
        within: Duration,
        /// What happened at the last try.
        last: String,
    },
    /// Another node refuses to talk to this one.
    #[error("{0}")]
    Refused(CallError),
    /// As many changes are under way as may be.
    #[error("too many changes are under way: try again")]
    Busy,
    /// The node takes part no longer: its disk has failed, most likely.
    #[error("the control plane of this node has ended: {0}")]
    Ended(String),
    /// The node is about to stop.
    #[error("this node is stopping")]
    Stopping,
}

impl Host for Desk {
    async fn answer(&self, from: NodeId, ask: Ask) -> Answer {
        match ask {
            Ask::Append(request) => Answer::Append(self.append(request).await),
            Ask::Vote(request) => Answer::Vote(self.raft.vote(request).await),
            Ask::Snapshot(request) => Answer::Snapshot(self.raft.install_snapshot(request).await),
            Ask::Propose(change) => Answer::Propose(self.propose_here(change).await),
            Ask::Pulse(census) => {
                let is_member = self.introduction.states.borrow().members().contains_key(&from);
                Answer::Pulse(self.pulse.answer(is_member.then_some(from), census))
            }
        }
    }

    fn take_over(&self, guest: Guest) {
        // Whoever called notices that nobody answers, and calls again.
        if let Err(refused) = self.guests.try_send(guest) {
            tracing::warn!(%refused, "a call of another node was dropped: nobody takes errands now");
        }
    }
}

impl Desk {
    /// Takes a leader's entries, or its sign of life, unless there is another leader.
    async fn append(&self, request: AppendEntriesRequest<Types>) -> Result<AppendEntriesResponse<u64>, RaftError<u64>> {
        let (term, heard) = (request.vote.leader_id.term, Instant::now());
        let answer = self.raft.append_entries(request).await;
        if matches!(&answer, Ok(answer) if !matches!(answer, AppendEntriesResponse::HigherVote(_))) {
            self.vigil.hear(term, heard);
        }
        answer
    }

    /// Has everybody agree on a change, wherever the leader is. Asked again with the same change, it is the same one.
    ///
    /// # Errors
    /// [`ProposeError`]: nobody knows what became of it.
    pub async fn propose(&self, change: &Change) -> Result<Outcome, ProposeError> {
        self.ask_around(change, None, self.timing.proposal).await
    }

    /// As [`Desk::propose`], beginning with the nodes at these addresses: this one is no member yet.
    ///
    /// # Errors
    /// [`ProposeError`].
    pub async fn propose_at(
        &self,
        change: &Change,
        seeds: &[String],
        within: Duration,
    ) -> Result<Outcome, ProposeError> {
        let deadline = Instant::now() + within;
        let mut last = "no address to join at".to_owned();
        for seed in seeds.iter().cycle() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match self.ask_around(change, Some(seed), left.min(HOP_TIMEOUT_MAX)).await {
                Err(ProposeError::NoAnswer { last: reason, .. }) => last = reason,
                answered => return answered,
            }
        }
        Err(ProposeError::NoAnswer { within, last })
    }

    async fn ask_around(
        &self,
        change: &Change,
        seed: Option<&String>,
        within: Duration,
    ) -> Result<Outcome, ProposeError> {
        let deadline = Instant::now() + within;
        let mut next = Hop::first(seed);
        let mut last = "nobody leads".to_owned();
        // Others may take this node for its former self, which led: whoever leads now is known in a moment.
        let me = self.introduction.identity.node;
        while Instant::now() < deadline {
            self.check_raft()?;
            match self.ask_at(&next, change, deadline).await {
                Ok(Proposed::Agreed(outcome)) => return Ok(outcome),
                Ok(Proposed::NotLeader(Some(leader))) if leader.node != me && next.leads_to(&leader) => {
                    next = Hop::Node(leader);
                    continue;
                }
                Ok(Proposed::NotLeader(_) | Proposed::Unknown) => {}
                Err(refused) if refused.is_final() => return Err(ProposeError::Refused(refused)),
                Err(error) => last = error.to_string(),
            }
            next = Hop::first(seed);
            sleep(self.timing.retry).await;
        }
        Err(ProposeError::NoAnswer { within, last })
    }

    /// Whether this node takes part at all: when its disk has failed, to wait would help nobody.
    fn check_raft(&self) -> Result<(), ProposeError> {
        let running = self.raft.metrics().borrow().running_state.clone();
        running.map_err(|error| ProposeError::Ended(error.to_string()))
    }

    async fn ask_at(&self, hop: &Hop, change: &Change, deadline: Instant) -> Result<Proposed, CallError> {
        let (to, address) = match hop {
            Hop::Here => {
                let proposed = timeout_at(deadline, self.propose_here(change.clone())).await;
                return Ok(proposed.unwrap_or(Proposed::Unknown));
            }
            Hop::Seed(address) => (None, address),
            Hop::Node(Whereabouts { node, address }) => (Some(*node), address),
        };
        let mut line = Line::new(self.introduction.clone(), to, address);
        let within = deadline.saturating_duration_since(Instant::now()).min(HOP_TIMEOUT_MAX);
        match line.ask(&Ask::Propose(change.clone()), within).await? {
            Answer::Propose(proposed) => Ok(proposed),
            _ => Err(CallError::out_of_turn(address)),
        }
    }

    /// Proposes a change if this node leads.
    async fn propose_here(&self, change: Change) -> Proposed {
        if let Some(refusal) = self.objection(&change.what) {
            return Proposed::Agreed(Outcome::Refused(refusal));
        }
        if self.comes_too_early(&change.what).await {
            return Proposed::Unknown;
        }
        match timeout(self.timing.proposal, self.raft.client_write(change)).await {
            Ok(Ok(written)) => Proposed::Agreed(written.data),
            Ok(Err(RaftError::APIError(ClientWriteError::ForwardToLeader(leader)))) => {
                let node = leader.leader_id.zip(leader.leader_node);
                Proposed::NotLeader(node.map(|(id, node)| Whereabouts { node: NodeId(id), address: node.addr }))
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "a change was not agreed on");
                Proposed::Unknown
            }
            Err(_) => Proposed::Unknown,
        }
    }

    /// Whether a node joins under a number that still votes, or is sent the log, for one that has left. It has forgotten
    /// what that one promised, and must not vote in its place: it waits until the steward has struck the other one.
    async fn comes_too_early(&self, what: &What) -> bool {
        let What::Join(member) = what else { return false };
        let is_listed = {
            let metrics = self.raft.metrics();
            let metrics = metrics.borrow();
            let roll = metrics.membership_config.membership();
            metrics.state == ServerState::Leader && roll.get_node(&member.id.0).is_some()
        };
        let has_begun = self.introduction.states.borrow().cluster().is_some();
        if !is_listed || !has_begun || defect::has(Defect::VotesInPlaceOfAnother) {
            return false;
        }
        // A leader that has not applied all that was agreed on before it led would take the other one for a member still.
        let is_up_to_date = timeout(HOP_TIMEOUT_MAX, self.raft.ensure_linearizable()).await;
        !matches!(is_up_to_date, Ok(Ok(_))) || !self.introduction.states.borrow().members().contains_key(&member.id)
    }

    /// What a leader alone can know against a change.
    fn objection(&self, what: &What) -> Option<Refusal> {
        match what {
            What::Leave(id) => self.objection_to_leaving(id),
            What::Join(member) => self.objection_to_joining(member.id),
            _ => None,
        }
    }

    /// A node that forgets what it promised must not be one of several.
    fn objection_to_joining(&self, id: NodeId) -> Option<Refusal> {
        let me = self.introduction.identity.node;
        (!self.is_lasting && id != me).then_some(Refusal::Forgetful { id: me })
    }

    /// Who would be left, if somebody leaves, must be able to agree.
    fn objection_to_leaving(&self, id: &NodeId) -> Option<Refusal> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        if metrics.state != ServerState::Leader {
            return None;
        }
        let mut members = self.introduction.states.borrow().members().clone();
        members.remove(id)?;
        let voting = metrics.membership_config.voter_ids().map(NodeId).filter(|voter| voter != id).collect();
        let me = self.introduction.identity.node;
        let healths = Healths { me, acks: &self.acks, voting: &voting, leads_for: Duration::ZERO };
        let voters = voters::wanted(&members, &voting, |id| healths.of(id));
        let alive = voters::answering(&voters, |id| healths.of(id));
        (alive <= voters.len() / 2).then_some(Refusal::NoQuorum { id: *id, alive, voters: voters.len() })
    }
}

/// Longest time that one node is waited for, before another one is asked.
const HOP_TIMEOUT_MAX: Duration = Duration::from_secs(1);

/// Where a change is proposed next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hop {
    Here,
    Seed(String),
    Node(Whereabouts),
}

impl Hop {
    fn first(seed: Option<&String>) -> Hop {
        seed.map_or(Hop::Here, |address| Hop::Seed(address.clone()))
    }

    /// Whether it is progress to go on to `leader`: who names itself, or whom it was just sent to, does not know.
    fn leads_to(&self, leader: &Whereabouts) -> bool {
        match self {
            Hop::Here | Hop::Seed(_) => true,
            Hop::Node(asked) => asked != leader,
        }
    }
}
