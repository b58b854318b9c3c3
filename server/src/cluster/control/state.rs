//! What all nodes agree on, and how a change changes it. Pure: the same changes in the same order give the same state, on
//! every node and in every version of the program.

mod left;
mod members;
mod recent;
mod rules;
mod wire;

use std::collections::BTreeMap;

use tallyring_protocol::{NodeId, PlacementSeed, Topology};

use self::left::Left;
use self::recent::Recent;
use super::change::{Change, ClusterId, Founding, Seeds, What};
use super::codec::{self, CodecError};
use super::member::{Member, NodeKey, Status};
use super::outcome::{Outcome, Refusal};
use crate::rules::book::Book;

/// The highest feature level that this program knows. A cluster is raised to a level when every member knows it.
pub const FEATURE_LEVEL: u16 = 1;

/// What all nodes agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    cluster: Option<Cluster>,
    /// Grows with every change of what gateways are told of the members.
    epoch: u64,
    members: BTreeMap<NodeId, Member>,
    feature_level: u16,
    rules: Book,
    recent: Recent,
    left: Left,
}

/// What a cluster is from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Tells it from all others.
    pub id: ClusterId,
    /// What keys are hashed under.
    pub seeds: Seeds,
}

impl State {
    /// Applies a change, or repeats the outcome that it had when it was applied before.
    pub fn apply(&mut self, change: &Change) -> Outcome {
        if let Some(outcome) = self.recent.outcome(change.id) {
            return outcome.clone();
        }
        let outcome = self.decide(change).unwrap_or_else(Outcome::Refused);
        self.recent.remember(change.id, outcome.clone());
        outcome
    }

    fn decide(&mut self, Change { at_us, what, .. }: &Change) -> Result<Outcome, Refusal> {
        match what {
            What::Found(founding) => self.found(founding, *at_us),
            _ if self.cluster.is_none() => Err(Refusal::NotFounded),
            What::Join(member) => self.join(member),
            What::Leave(node) => self.leave(*node),
            What::Reweigh { node, weight } => self.reweigh(*node, *weight),
            What::Mark { node, status } => self.mark(*node, *status),
            What::Raise { feature_level } => self.raise(*feature_level),
            What::Publish(publish) => self.publish(publish, *at_us),
        }
    }

    /// Begins the cluster. Its first epoch is the instant of its founding: a client that knew another cluster at the same
    /// address takes this one's topology for the newer one.
    fn found(&mut self, Founding { cluster, seeds, founder }: &Founding, at_us: u64) -> Result<Outcome, Refusal> {
        if let Some(Cluster { id, .. }) = self.cluster {
            return Err(Refusal::Founded { cluster: id });
        }
        founder.check()?;
        self.cluster = Some(Cluster { id: *cluster, seeds: *seeds });
        self.epoch = at_us;
        self.feature_level = founder.feature_level;
        self.members.insert(founder.id, founder.clone());
        Ok(Outcome::Done { epoch: self.epoch })
    }

    /// What the cluster is; `None` before it was founded.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// The epoch of the ring; 0 before the cluster was founded.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The members, in the order of their numbers.
    pub fn members(&self) -> &BTreeMap<NodeId, Member> {
        &self.members
    }

    /// Whether the node of this key was a member and has left for good.
    pub fn has_left(&self, key: NodeKey) -> bool {
        self.left.contains(key)
    }

    /// The level that everybody may use.
    pub fn feature_level(&self) -> u16 {
        self.feature_level
    }

    /// The rules and their history.
    pub fn rules(&self) -> &Book {
        &self.rules
    }

    /// What gateways are told, `gateways` of which live; `None` before the cluster was founded.
    pub fn topology(&self, gateways: u32) -> Option<Topology> {
        let Cluster { seeds, .. } = self.cluster?;
        let nodes = self.members.values().map(Member::to_node).collect();
        let gateways = gateways.max(1);
        Some(Topology { epoch: self.epoch, placement_seed: PlacementSeed(seeds.placement), nodes, gateways })
    }

    /// The same after the loss of everybody but `me`: a cluster of another name, at a later epoch than any that the lost ones
    /// can have come to.
    pub(super) fn recovered(&self, me: NodeId, cluster: ClusterId, now_us: u64) -> State {
        let mut state = self.clone();
        state.cluster = state.cluster.map(|Cluster { seeds, .. }| Cluster { id: cluster, seeds });
        state.members.retain(|id, _| *id == me);
        for member in state.members.values_mut() {
            member.weight = member.weight.max(1);
            member.status = Status::Up;
        }
        state.epoch = now_us.max(state.epoch + 1);
        state
    }

    /// The state's bytes: what a snapshot holds.
    pub fn encode(&self) -> Vec<u8> {
        codec::encode(&wire::WireState::new(self))
    }

    /// The state that `bytes` are.
    ///
    /// # Errors
    /// [`CodecError`]: another program's, or damaged.
    pub fn decode(bytes: &[u8]) -> Result<State, CodecError> {
        codec::decode::<wire::WireState>(bytes)?.into_state()
    }
}

#[cfg(test)]
mod tests;
