//! The leader's side: what it has granted, and what it may therefore give to somebody else.

mod damping;
mod row;

use std::collections::BTreeMap;

use tallyring_protocol::NodeId;

pub use self::damping::{FORGOTTEN_US, RETURN_US_MAX, RETURN_US_MIN, SILENCE_US_MAX};
use self::row::Row;
use super::length::Length;
use super::message::{Answer, Ask, GiveBack, Grant, Refusal};
use super::roll::Roll;

/// What a leadership has granted; it begins and ends with it.
///
/// Instants are microseconds of the leader's clock since boot.
#[derive(Debug)]
pub struct Grants {
    length: Length,
    roll: Roll,
    /// At most one for each member.
    rows: BTreeMap<NodeId, Row>,
    /// Until when leases may last that former leaders granted.
    inherited_until_us: u64,
    settled: u64,
}

/// What a leader knows of its own right to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The clock.
    pub now_us: u64,
    /// Until when there is no other leader: [`quorum_holds_us`](super::quorum_holds_us) after the *sending* of the last
    /// heartbeat that a quorum has acknowledged.
    pub quorum_until_us: u64,
}

/// Why an owner's ranges cannot be given to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Kept {
    /// It may be deciding.
    #[error("its lease may last for another {} us", until_us.saturating_sub(*now_us))]
    Held {
        /// Its lease is surely over after this instant.
        until_us: u64,
        /// When that was asked.
        now_us: u64,
    },
    /// Another leader may have granted it a lease.
    #[error("the leader has not heard of a quorum lately")]
    NoQuorum,
}

impl Standing {
    fn holds(self) -> bool {
        self.now_us <= self.quorum_until_us
    }
}

impl Grants {
    /// Begins as if it had granted everybody the longest lease when it was elected; `elected_us` is a reading that was made
    /// then or later.
    ///
    /// `roll` is what is agreed on *once the first entry of the leader's own term is applied*. What its predecessor proposed
    /// is part of it then, or never will be: a leader that grants before may grant to a node whose mark `down` it is about to
    /// inherit.
    pub fn new(length: Length, elected_us: u64, roll: Roll) -> Grants {
        let rows = roll.members.keys().map(|node| (*node, Row::default())).collect();
        let inherited_until_us = elected_us.saturating_add(Length::LONGEST.leader_us());
        Grants { length, roll, rows, inherited_until_us, settled: 0 }
    }

    /// Takes what has been agreed on since. To be late with it is safe: until then the old epoch is granted.
    pub fn follow(&mut self, now_us: u64, roll: Roll) {
        self.rows.retain(|node, _| roll.members.contains_key(node));
        for node in roll.members.keys() {
            let row = self.rows.entry(*node).or_insert_with(|| Row::joined(now_us));
            if roll.is_down(*node) && !self.roll.is_down(*node) {
                row.went_down(now_us);
            }
        }
        self.roll = roll;
    }

    /// Answers an owner: grants, if it leads, and if nothing of the owner's is being given away.
    pub fn answer(&mut self, at: Standing, from: NodeId, ask: &Ask) -> Answer {
        let outcome = self.grant(at, from, ask);
        Answer { tenure: ask.tenure, number: ask.number, outcome }
    }

    fn grant(&mut self, at: Standing, from: NodeId, ask: &Ask) -> Result<Grant, Refusal> {
        if !at.holds() {
            return Err(Refusal::NoQuorum);
        }
        self.settle(at.now_us);
        let is_down = self.roll.is_down(from);
        let row = self.rows.get_mut(&from).ok_or(Refusal::NotAMember)?;
        row.heard(at.now_us);
        row.admit(at.now_us, ask.tenure, is_down)?;
        let length = ask.length.min(self.length);
        row.granted(at.now_us, ask.tenure, self.roll.epoch, length);
        Ok(Grant { epoch: self.roll.epoch, length, settled: self.settled })
    }

    /// An owner gives its lease back: from now on it is over. What former leaders granted is still waited for, since this
    /// one does not know which tenure they granted it to.
    pub fn take_back(&mut self, from: NodeId, back: &GiveBack) {
        if let Some(row) = self.rows.get_mut(&from) {
            row.take_back(back.tenure);
        }
    }

    /// The members that serve, so it was agreed, and surely decide nothing: they are to be [condemned](Grants::condemn), and
    /// then marked down. Everybody has as long as a lease lasts to ask a new leader.
    pub fn silent(&self, at: Standing) -> impl Iterator<Item = NodeId> {
        let serving = self.roll.members.keys().copied().filter(|node| !self.roll.is_out(*node));
        serving.filter(move |node| at.now_us > self.held_until_us(*node).max(self.inherited_until_us))
    }

    /// To be called before it is *proposed* that a node is marked down, or removed: it is granted nothing from then on, until
    /// it [is down](Grants::follow), or [pardoned](Grants::pardon).
    ///
    /// # Errors
    /// [`Kept`]: it may still decide, and must not be given up.
    pub fn condemn(&mut self, at: Standing, node: NodeId) -> Result<(), Kept> {
        if !at.holds() {
            return Err(Kept::NoQuorum);
        }
        let until_us = self.held_until_us(node);
        if at.now_us <= until_us {
            return Err(Kept::Held { until_us, now_us: at.now_us });
        }
        if let Some(row) = self.rows.get_mut(&node) {
            row.condemned = true;
        }
        Ok(())
    }

    /// What was proposed has been refused, and will never be agreed on.
    pub fn pardon(&mut self, node: NodeId) {
        if let Some(row) = self.rows.get_mut(&node) {
            row.condemned = false;
        }
    }

    /// Whether a node that is down has asked steadily for long enough to serve again; each time that it goes down it takes
    /// twice as long.
    pub fn may_return(&self, at: Standing, node: NodeId) -> bool {
        at.holds() && self.roll.is_down(node) && self.rows.get(&node).is_some_and(|row| row.may_return(at.now_us))
    }

    /// The instant after which a node surely decides nothing under any lease that was granted so far.
    pub fn held_until_us(&self, node: NodeId) -> u64 {
        self.rows.get(&node).map_or(0, Row::until_us).max(self.inherited_us())
    }

    /// Who is alone inherits no leases: a member goes only after its own is over.
    fn inherited_us(&self) -> u64 {
        if self.roll.members.len() > 1 { self.inherited_until_us } else { 0 }
    }

    /// Notes that nobody decides under an older epoch any more, once that is so.
    fn settle(&mut self, now_us: u64) {
        if self.settled < self.roll.epoch && self.lags_until_us() < now_us {
            self.settled = self.roll.epoch;
        }
    }

    /// The instant after which nobody decides under an epoch before the current one.
    fn lags_until_us(&self) -> u64 {
        let serving = self.rows.iter().filter(|(node, _)| !self.roll.is_out(**node));
        let lags = serving.map(|(_, row)| row.before_until_us(self.roll.epoch)).max();
        lags.unwrap_or(0).max(self.inherited_us())
    }
}

#[cfg(test)]
mod tests;
