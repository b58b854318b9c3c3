//! A machine: its clock, its disk, and the process that runs on it.

use std::collections::BTreeSet;

use tallyring::cluster::lease::{CLIENT_DEADLINE_US_MAX, Length, RENEWED_EVERY_US, Roll, Tenure};

use crate::Bug;
use crate::control::Lead;
use crate::dice::Dice;
use crate::message::{Body, Entry, Outbox};
use crate::shard::Shard;

/// A voter that heard of a leader, or started, votes for nobody else for so long, in microseconds.
pub(crate) const ELECTION_US_MIN: u64 = 100_000;
const ELECTION_US_MAX: u64 = 180_000;

/// Counts true time at a wrong rate, from some instant on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) booted_us: u64,
    pub(crate) wrong_ppm: i64,
}

impl Clock {
    pub(crate) fn at(&self, true_us: u64) -> u64 {
        let gained = i128::from(true_us) * i128::from(self.wrong_ppm) / 1_000_000;
        self.booted_us + u64::try_from(i128::from(true_us) + gained).expect("a rate above zero")
    }
}

/// What survives the process.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) term: u64,
    pub(crate) voted: Option<u64>,
    pub(crate) log: Entry,
    pub(crate) agreed: Entry,
}

#[derive(Debug)]
pub(crate) enum Role {
    Follower,
    Candidate(BTreeSet<u64>),
    Leader(Lead),
}

pub(crate) struct Machine {
    pub(crate) id: u64,
    pub(crate) peers: u64,
    pub(crate) bug: Option<Bug>,
    pub(crate) clock: Clock,
    pub(crate) dice: Dice,
    pub(crate) length: Length,
    /// The longest that a client of this node waits.
    pub(crate) deadline_us: u64,
    pub(crate) disk: Disk,
    pub(crate) is_up: bool,
    /// Which process: what an earlier one meant to do is forgotten.
    pub(crate) start: u64,
    pub(crate) role: Role,
    pub(crate) leader: Option<u64>,
    pub(crate) heard_us: u64,
    pub(crate) election_us: u64,
    pub(crate) tenure: Tenure,
    pub(crate) ask_us: u64,
    /// To be given back by the shard, which comes back at this instant of the clock.
    pub(crate) drains_until_us: Option<u64>,
    pub(crate) shard: Shard,
}

impl Machine {
    pub(crate) fn new(id: u64, peers: u64, bug: Option<Bug>, clock: Clock, mut dice: Dice, roll: Roll) -> Machine {
        let entry = Entry { id: (0, 0), roll: roll.clone() };
        let disk = Disk { term: 0, voted: None, log: entry.clone(), agreed: entry };
        let length = Length::new(if dice.one_in(5) { 400_000 } else { 500_000 }).expect("both are lengths");
        Machine {
            id,
            peers,
            bug,
            clock,
            length,
            deadline_us: if dice.one_in(2) { 5_000 } else { CLIENT_DEADLINE_US_MAX },
            disk,
            is_up: false,
            start: 0,
            role: Role::Follower,
            leader: None,
            heard_us: 0,
            election_us: 0,
            tenure: Tenure::new(dice.draw(), length),
            ask_us: 0,
            drains_until_us: None,
            shard: Shard::new(id, roll),
            dice,
        }
    }

    /// A new process, which knows what is on the disk.
    pub(crate) fn boot(&mut self, now_us: u64) {
        self.is_up = true;
        self.role = Role::Follower;
        self.leader = None;
        self.heard_us = now_us;
        self.await_election(now_us);
        self.tenure = Tenure::new(self.dice.draw(), self.length);
        self.ask_us = now_us;
        self.drains_until_us = None;
        self.shard = Shard::new(self.id, self.disk.agreed.roll.clone());
    }

    pub(crate) fn crash(&mut self) {
        self.is_up = false;
        self.start += 1;
    }

    pub(crate) fn await_election(&mut self, now_us: u64) {
        self.election_us = now_us + self.dice.between(ELECTION_US_MIN, ELECTION_US_MAX);
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = u64> + use<> {
        let id = self.id;
        (1..=self.peers).filter(move |peer| *peer != id)
    }

    pub(crate) fn tick(&mut self, now_us: u64, out: &mut Outbox) {
        self.tick_control(now_us, out);
        if now_us >= self.ask_us {
            self.ask(now_us, out);
        }
    }

    pub(crate) fn ask(&mut self, now_us: u64, out: &mut Outbox) {
        let Some(leader) = self.leader else { return };
        self.ask_us = now_us + RENEWED_EVERY_US;
        out.push((leader, Body::Ask(self.tenure.ask(now_us))));
    }

    pub(crate) fn receive(&mut self, now_us: u64, from: u64, body: Body, out: &mut Outbox) {
        match body {
            Body::Answer(mut answer) => {
                if self.bug == Some(Bug::Pushed) {
                    answer.number = self.tenure.ask(now_us).number;
                }
                // A refusal, or an answer that came twice, changes nothing.
                let _unchanged = self.tenure.take(&answer);
                self.shard.settled(self.tenure.settled());
            }
            Body::MovedOn { epoch } => self.shard.moved_on(from, epoch),
            body => self.receive_control(now_us, from, body, out),
        }
    }

    /// Decides nothing any more, says so, and comes back later as if it had started anew.
    pub(crate) fn drain(&mut self, until_us: u64, out: &mut Outbox) {
        let tenure = std::mem::replace(&mut self.tenure, Tenure::new(self.dice.draw(), self.length));
        self.ask_us = until_us;
        if let Some(leader) = self.leader {
            out.push((leader, Body::Back(tenure.give_back())));
        }
    }
}
