//! check_all: several checks as one. All keys are of one shard, so one thread decides them without asking another.

use std::borrow::Cow;

use smallvec::SmallVec;
use tallyring_engine::{Ask, Decision, Identity, JointError, PARTS_MAX, Part, Timestamp};
use tallyring_protocol::{Charge, Malformed, Parts, Placement, Reply, shard_of};

use super::Shard;
use super::apply::joint_reply;
use super::command::{Errand, ForeignPart};
use super::refusal::{Answer, Refusal};
use super::session::Session;

const _: () = assert!(PARTS_MAX == tallyring_protocol::bounds::PARTS_MAX, "the engine decides what a frame can carry");

/// Room for one call's parts, kept so that a call does not allocate.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    parts: Vec<Part>,
    decisions: Vec<Decision>,
}

impl Scratch {
    /// Where the keys of the parts live.
    fn places(&self) -> impl Iterator<Item = Placement> {
        self.parts.iter().map(|part| Placement(part.identity.placement))
    }
}

impl Shard {
    /// Decides the parts if their keys are this shard's; else sends them to the shard whose they are.
    pub(super) fn check_all(&mut self, id: u32, parts: Parts<'_>, now: Timestamp, session: &mut Session) -> Answer {
        self.joint.parts.clear();
        for (no, charge) in (0..).zip(parts.iter()) {
            let part = self.part(&charge, session).map_err(|refusal| refusal.of_part(no))?;
            self.joint.parts.push(part);
        }
        if let Some(place) = self.joint.places().find(|place| !self.territory.holds(*place)) {
            return Ok(Some(self.territory.refusal(place)));
        }
        let shard = self.one_shard()?;
        if shard != self.index {
            let errand = Errand::CheckAll(self.foreign_parts(parts, session)?);
            return Ok(self.forward(id, errand, shard, &mut session.way));
        }
        Ok(Some(self.decide_joint(now)))
    }

    fn part(&self, charge: &Charge<'_>, session: &Session) -> Result<Part, Refusal> {
        let limit = session.handle(charge.handle)?;
        let ask = Ask::try_new(charge.cost, charge.keep, charge.force)?;
        Ok(Part { identity: self.seeds.identify(charge.key, limit.algorithm), limit: limit.id, ask })
    }

    /// The shard of all the parts' keys.
    fn one_shard(&self) -> Result<u16, Malformed> {
        let shard = |part: &Part| shard_of(Placement(part.identity.placement), self.shards());
        let first = shard(&self.joint.parts[0]);
        if self.joint.parts.iter().all(|part| shard(part) == first) {
            return Ok(first);
        }
        Err(Malformed::new("checks", "cross_shard: their keys live on several shards; keys of one tag share one"))
    }

    fn foreign_parts(&self, parts: Parts<'_>, session: &Session) -> Result<Box<[ForeignPart]>, Malformed> {
        let foreign = |(charge, part): (Charge<'_>, &Part)| {
            let definition = session.handle(charge.handle)?.definition.clone();
            Ok(ForeignPart { definition, identity: part.identity, ask: part.ask })
        };
        parts.iter().zip(&self.joint.parts).map(foreign).collect()
    }

    /// Decides parts that another shard sent.
    pub(super) fn check_all_foreign(&mut self, parts: &[ForeignPart], now: Timestamp) -> Reply<'static> {
        self.joint.parts.clear();
        self.guests.make_room(&mut self.engine, parts.len());
        for ForeignPart { definition, identity, ask } in parts {
            let Some(limit) = self.guests.intern(&mut self.engine, definition) else { return Reply::Full };
            self.joint.parts.push(Part { identity: *identity, limit, ask: *ask });
        }
        self.decide_joint(now)
    }

    fn decide_joint(&mut self, now: Timestamp) -> Reply<'static> {
        let Scratch { parts, decisions } = &mut self.joint;
        let identities: SmallVec<[Identity; PARTS_MAX]> = parts.iter().map(|part| part.identity).collect();
        self.engine.prefetch(&identities);
        match self.engine.check_all(now, parts, decisions) {
            Ok(joint) => joint_reply(joint, decisions, now),
            Err(JointError::Full(_)) => Reply::Full,
            Err(error @ JointError::TwoLimits { part }) => {
                let field = Cow::Owned(format!("checks[{part}].limit"));
                Reply::Invalid { field, reason: Cow::Owned(error.to_string()) }
            }
        }
    }
}
