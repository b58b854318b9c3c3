//! Changes of the members and of the ring.

use tallyring_protocol::NodeId;
use tallyring_protocol::bounds::NODES_MAX;
use tallyring_protocol::ring::WEIGHT_MAX;
use tallyring_protocol::topology::WEIGHTS_SUM_MAX;

use super::super::member::{Member, Status};
use super::super::outcome::{Outcome, Refusal};
use super::State;

impl State {
    /// A node becomes a member. A member that joins again, from the same data folder, has moved or was upgraded: its weight
    /// is the cluster's to say, everything else its own.
    pub(super) fn join(&mut self, member: &Member) -> Result<Outcome, Refusal> {
        member.check()?;
        let id = member.id;
        if member.feature_level < self.feature_level {
            return Err(Refusal::TooOld { cluster: self.feature_level, node: member.feature_level });
        }
        if self.has_left(member.key) {
            return Err(Refusal::Left { id });
        }
        match self.members.get(&id) {
            Some(known) if known.key != member.key => return Err(Refusal::DuplicateId { id }),
            Some(known) => {
                let (weight, status) = (known.weight, known.status);
                self.put(Member { weight, status, ..member.clone() });
            }
            None if self.members.len() >= NODES_MAX => return Err(Refusal::ClusterFull),
            None => {
                self.check_weights(id, member.weight)?;
                self.put(Member { status: Status::Up, ..member.clone() });
            }
        }
        Ok(Outcome::Done { epoch: self.epoch })
    }

    /// A member leaves. Its number may be given to another node, which owns the same arcs of the ring then; the
    /// node itself comes back with a data folder of its own, or not at all.
    pub(super) fn leave(&mut self, id: NodeId) -> Result<Outcome, Refusal> {
        let member = self.members.get(&id).ok_or(Refusal::NotAMember { id })?;
        if self.members.len() == 1 {
            return Err(Refusal::LastMember { id });
        }
        if member.weight > 0 {
            self.check_weights(id, 0)?;
        }
        self.left.remember(member.key);
        self.members.remove(&id);
        self.epoch += 1;
        Ok(Outcome::Done { epoch: self.epoch })
    }

    pub(super) fn reweigh(&mut self, id: NodeId, weight: u32) -> Result<Outcome, Refusal> {
        let member = self.members.get(&id).ok_or(Refusal::NotAMember { id })?.clone();
        if weight > WEIGHT_MAX {
            return Err(Refusal::Malformed { rule: format!("weight: at most {WEIGHT_MAX}") });
        }
        self.check_weights(id, weight)?;
        self.put(Member { weight, ..member });
        Ok(Outcome::Done { epoch: self.epoch })
    }

    pub(super) fn mark(&mut self, id: NodeId, status: Status) -> Result<Outcome, Refusal> {
        let member = self.members.get(&id).ok_or(Refusal::NotAMember { id })?.clone();
        self.put(Member { status, ..member });
        Ok(Outcome::Done { epoch: self.epoch })
    }

    pub(super) fn raise(&mut self, feature_level: u16) -> Result<Outcome, Refusal> {
        if feature_level <= self.feature_level {
            return Err(Refusal::NoRise { cluster: self.feature_level });
        }
        if let Some(member) = self.members.values().find(|member| member.feature_level < feature_level) {
            return Err(Refusal::NotEverybody { id: member.id, knows: member.feature_level });
        }
        self.feature_level = feature_level;
        Ok(Outcome::Done { epoch: self.epoch })
    }

    /// Takes a member as it is from now on; the epoch grows if anything about it is new.
    fn put(&mut self, member: Member) {
        if self.members.get(&member.id) != Some(&member) {
            self.members.insert(member.id, member);
            self.epoch += 1;
        }
    }

    /// Whether somebody owns something, and nobody too much, if `id` has this weight.
    fn check_weights(&self, id: NodeId, weight: u32) -> Result<(), Refusal> {
        let others = self.members.values().filter(|member| member.id != id);
        let sum = others.map(|member| u64::from(member.weight)).sum::<u64>() + u64::from(weight);
        match sum {
            0 => Err(Refusal::LastWeight { id }),
            sum if sum > WEIGHTS_SUM_MAX => Err(Refusal::TooHeavy),
            _ => Ok(()),
        }
    }
}
