//! The smallest consensus that elects leaders and agrees on who is down: Raft with a log whose last entry is the state.
//!
//! Source: Ongaro, "Consensus: bridging theory and practice", 2014, sections 3.4, 3.6 and, on leaders' leases, 6.4.1.

use std::collections::BTreeMap;

use tallyring::cluster::control::member::Status;
use tallyring::cluster::lease::{Ask, Grants, HEARTBEAT_US, Roll, Standing, quorum_holds_us};
use tallyring_protocol::NodeId;

use crate::Bug;
use crate::machine::{ELECTION_US_MIN, Machine, Role};
use crate::message::{Body, Entry, LogId, Outbox};

/// What a leader knows besides.
#[derive(Debug)]
pub(crate) struct Lead {
    elected_us: u64,
    beat_us: u64,
    /// Of each voter: which heartbeat it acknowledged last, by the instant of its sending, and what it has.
    acks: BTreeMap<u64, (u64, LogId)>,
    /// Once the first entry of its term is agreed on.
    grants: Option<Grants>,
}

impl Machine {
    pub(crate) fn leads(&self) -> bool {
        self.is_up && matches!(self.role, Role::Leader(_))
    }

    /// Whether it has proposed a change that is not agreed on, and grants.
    pub(crate) fn is_changing(&self) -> bool {
        let grants = matches!(&self.role, Role::Leader(Lead { grants: Some(_), .. }));
        self.is_up && grants && self.disk.agreed.id != self.disk.log.id
    }

    pub(crate) fn tick_control(&mut self, now_us: u64, out: &mut Outbox) {
        match &self.role {
            Role::Leader(_) => self.tick_leader(now_us, out),
            _ if now_us >= self.election_us => self.stand(now_us, out),
            _ => {}
        }
    }

    pub(crate) fn receive_control(&mut self, now_us: u64, from: u64, body: Body, out: &mut Outbox) {
        match body {
            Body::Stand { term, last } => self.vote(now_us, from, term, last, out),
            Body::Vote { term } => self.count(now_us, from, term, out),
            Body::Beat { term, sent_us, log, agreed } => self.hear(now_us, from, term, sent_us, &log, &agreed, out),
            Body::Ack { term, sent_us, has } => self.acknowledged(now_us, from, term, sent_us, has),
            Body::Ask(ask) => self.answer(now_us, from, &ask, out),
            Body::Back(back) => {
                if let Role::Leader(Lead { grants: Some(grants), .. }) = &mut self.role {
                    grants.take_back(NodeId(from), &back);
                }
            }
            Body::Answer(_) | Body::MovedOn { .. } => unreachable!("the machine's own"),
        }
    }

    fn majority(&self) -> usize {
        usize::try_from(self.peers).expect("a few") / 2 + 1
    }

    fn step_down(&mut self, term: u64) {
        if term > self.disk.term {
            (self.disk.term, self.disk.voted) = (term, None);
            self.role = Role::Follower;
        }
    }

    fn stand(&mut self, now_us: u64, out: &mut Outbox) {
        self.step_down(self.disk.term + 1);
        self.disk.voted = Some(self.id);
        self.role = Role::Candidate([self.id].into());
        self.leader = None;
        self.await_election(now_us);
        let stand = Body::Stand { term: self.disk.term, last: self.disk.log.id };
        out.extend(self.others().map(|peer| (peer, stand.clone())));
    }

    fn vote(&mut self, now_us: u64, from: u64, term: u64, last: LogId, out: &mut Outbox) {
        if self.leads() || now_us < self.heard_us + ELECTION_US_MIN {
            return;
        }
        self.step_down(term);
        let may =
            term == self.disk.term && last >= self.disk.log.id && self.disk.voted.is_none_or(|voted| voted == from);
        if may {
            self.disk.voted = Some(from);
            self.await_election(now_us);
            out.push((from, Body::Vote { term }));
        }
    }

    fn count(&mut self, now_us: u64, from: u64, term: u64, out: &mut Outbox) {
        let majority = self.majority();
        if let Role::Candidate(votes) = &mut self.role
            && term == self.disk.term
        {
            votes.insert(from);
            if votes.len() >= majority {
                self.lead(now_us, out);
            }
        }
    }

    fn lead(&mut self, now_us: u64, out: &mut Outbox) {
        let elected_us = if self.bug == Some(Bug::HastyLeader) { now_us - 600_000 } else { now_us };
        self.role = Role::Leader(Lead { elected_us, beat_us: now_us, acks: BTreeMap::new(), grants: None });
        self.leader = Some(self.id);
        self.propose(now_us, self.disk.log.roll.clone(), out);
    }

    fn propose(&mut self, now_us: u64, roll: Roll, out: &mut Outbox) {
        self.disk.log = Entry { id: (self.disk.term, self.disk.log.id.1 + 1), roll };
        self.beat(now_us, out);
    }

    fn beat(&mut self, now_us: u64, out: &mut Outbox) {
        let (id, others) = (self.id, self.others());
        let Role::Leader(lead) = &mut self.role else { return };
        lead.beat_us = now_us + HEARTBEAT_US;
        lead.acks.insert(id, (now_us, self.disk.log.id));
        let (log, agreed) = (self.disk.log.clone(), self.disk.agreed.clone());
        let beat = Body::Beat { term: self.disk.term, sent_us: now_us, log, agreed };
        out.extend(others.map(|peer| (peer, beat.clone())));
    }

    #[expect(clippy::too_many_arguments, reason = "a message's fields")]
    fn hear(&mut self, now_us: u64, from: u64, term: u64, sent_us: u64, log: &Entry, agreed: &Entry, out: &mut Outbox) {
        if term < self.disk.term {
            // Whoever leads an older term learns of the newer one.
            return out.push((from, Body::Ack { term: self.disk.term, sent_us: 0, has: (0, 0) }));
        }
        self.step_down(term);
        self.role = Role::Follower;
        self.heard_us = now_us;
        self.await_election(now_us);
        if log.id >= self.disk.log.id {
            self.disk.log = log.clone();
        }
        if agreed.id > self.disk.agreed.id {
            self.disk.agreed = agreed.clone();
        }
        out.push((from, Body::Ack { term, sent_us, has: self.disk.log.id }));
        if self.leader.replace(from) != Some(from) && self.ask_us <= now_us + 2 * HEARTBEAT_US {
            self.ask(now_us, out);
        }
    }

    fn acknowledged(&mut self, now_us: u64, from: u64, term: u64, sent_us: u64, has: LogId) {
        self.step_down(term);
        let Role::Leader(lead) = &mut self.role else { return };
        if term == self.disk.term {
            let ack = lead.acks.entry(from).or_default();
            *ack = (ack.0.max(sent_us), ack.1.max(has));
            self.agree(now_us);
        }
    }

    /// What a majority has is agreed on, and with it the leader's first entry, from when on it grants.
    fn agree(&mut self, now_us: u64) {
        let majority = self.majority();
        let Role::Leader(lead) = &mut self.role else { return };
        let have = lead.acks.values().filter(|(_, has)| *has >= self.disk.log.id).count();
        if have < majority || self.disk.agreed.id == self.disk.log.id {
            return;
        }
        let before = std::mem::replace(&mut self.disk.agreed, self.disk.log.clone());
        let roll = self.disk.agreed.roll.clone();
        match &mut lead.grants {
            Some(grants) => grants.follow(now_us, roll),
            none => {
                let roll = if self.bug == Some(Bug::GrantsEarly) { before.roll } else { roll };
                *none = Some(Grants::new(self.length, lead.elected_us, roll));
            }
        }
    }

    fn standing(&self, now_us: u64) -> Standing {
        let Role::Leader(lead) = &self.role else { return Standing { now_us, quorum_until_us: 0 } };
        let others = lead.acks.iter().filter(|(peer, _)| **peer != self.id).map(|(_, ack)| ack.0);
        let mut sent: Vec<u64> = others.collect();
        sent.sort_unstable_by(|one, other| other.cmp(one));
        let quorum = sent.get(self.majority() - 2).copied().unwrap_or(0);
        let holds_us = if self.bug == Some(Bug::StubbornLeader) { 1_000_000 } else { quorum_holds_us(ELECTION_US_MIN) };
        Standing { now_us, quorum_until_us: quorum + holds_us }
    }

    fn answer(&mut self, now_us: u64, from: u64, ask: &Ask, out: &mut Outbox) {
        let at = self.standing(now_us);
        if let Role::Leader(Lead { grants: Some(grants), .. }) = &mut self.role {
            out.push((from, Body::Answer(grants.answer(at, NodeId(from), ask))));
        }
    }

    fn tick_leader(&mut self, now_us: u64, out: &mut Outbox) {
        if let Some(roll) = self.change(now_us) {
            return self.propose(now_us, roll, out);
        }
        if matches!(&self.role, Role::Leader(lead) if now_us >= lead.beat_us) {
            self.beat(now_us, out);
        }
    }

    /// The next thing to agree on, one at a time: who is down, who is back, who joins.
    fn change(&mut self, now_us: u64) -> Option<Roll> {
        let at = self.standing(now_us);
        let Role::Leader(Lead { grants: Some(grants), .. }) = &mut self.role else { return None };
        if self.disk.agreed.id != self.disk.log.id {
            return None;
        }
        let mut roll = self.disk.agreed.roll.clone();
        let silent = grants.silent(at).next();
        if let Some(node) = silent.filter(|node| grants.condemn(at, *node).is_ok()) {
            roll.members.insert(node, Status::Down);
        } else if let Some(node) = (1..=self.peers).map(NodeId).find(|node| grants.may_return(at, *node)) {
            roll.members.insert(node, Status::Up);
        } else if let Some(node) = (1..=self.peers).map(NodeId).find(|node| !roll.members.contains_key(node)) {
            roll.members.insert(node, Status::Up);
        } else {
            return None;
        }
        roll.epoch += 1;
        Some(roll)
    }
}
