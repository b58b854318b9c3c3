//! The owner's side: what it may decide, and until when.

use std::collections::VecDeque;

use super::length::{Length, room_for_deadline_us};
use super::message::{Answer, Ask, GiveBack, Refusal};
use super::right::Right;

/// Questions that may be without an answer; older ones are given up. A lease is over long before as many are asked.
pub const ASKED_MAX: usize = 16;

/// Leases of different epochs that are kept at a time.
pub const LEASES_MAX: usize = 4;

/// The leases of one start of a node, from its first question until it gives back or ends.
///
/// Instants are microseconds of the clock since boot, suspend included, never of cluster time: that one is steered and
/// steps.
///
/// ```
/// use tallyring::cluster::lease::{Answer, Grant, Length, Tenure};
///
/// let mut tenure = Tenure::new(0x5eed, Length::DEFAULT);
/// let ask = tenure.ask(1_000);
/// let grant = Grant { epoch: 7, length: ask.length, settled: 7 };
/// tenure.take(&Answer { tenure: ask.tenure, number: ask.number, outcome: Ok(grant) }).unwrap();
/// assert_eq!(tenure.until_us(7), 491_000, "counted from the question, however late the answer");
/// assert_eq!(tenure.until_us(6), 0, "nothing under an older topology");
/// ```
#[derive(Debug)]
pub struct Tenure {
    id: u64,
    length: Length,
    next: u64,
    asked: VecDeque<Asked>,
    /// Ascending by epoch and by end: of two leases, one of an older epoch that ends later makes the other one useless.
    leases: Vec<Lease>,
    settled: u64,
}

/// A question without an answer.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    at_us: u64,
}

/// The right to decide under topologies from an epoch on, until an instant.
#[derive(Clone, Copy, Debug)]
struct Lease {
    epoch: u64,
    until_us: u64,
}

/// Why an answer changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGrant {
    /// The leader said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// To no question that waits for one: it came twice, too late, or for an earlier start of the node.
    #[error("lease: an answer to no open question")]
    Unasked,
    /// A leader never grants more than was asked for.
    #[error("lease: the leader granted more than was asked for")]
    TooLong,
}

impl Tenure {
    /// Begins without a lease. `id` is drawn at random, so that no answer to an earlier start is taken for one of this.
    pub fn new(id: u64, length: Length) -> Tenure {
        Tenure { id, length, next: 0, asked: VecDeque::new(), leases: Vec::new(), settled: 0 }
    }

    /// The question to send now. It counts from now, so it is asked before it is sent, and again for every sending.
    pub fn ask(&mut self, now_us: u64) -> Ask {
        let number = self.next;
        self.next += 1;
        if self.asked.len() == ASKED_MAX {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked { number, at_us: now_us });
        Ask { tenure: self.id, number, length: self.length }
    }

    /// Takes an answer, of which some are lost and others overtake each other: each adds a lease that began when *its*
    /// question was asked, and none takes away from another.
    ///
    /// # Errors
    /// [`NoGrant`]: what is held stays as it was.
    pub fn take(&mut self, answer: &Answer) -> Result<(), NoGrant> {
        let asked = self.asked.iter().position(|asked| (self.id, asked.number) == (answer.tenure, answer.number));
        let asked = asked.and_then(|index| self.asked.remove(index)).ok_or(NoGrant::Unasked)?;
        let grant = answer.outcome?;
        if grant.length > self.length {
            return Err(NoGrant::TooLong);
        }
        self.settled = self.settled.max(grant.settled);
        self.hold(Lease { epoch: grant.epoch, until_us: asked.at_us + grant.length.owner_us() });
        Ok(())
    }

    fn hold(&mut self, lease: Lease) {
        if self.until_us(lease.epoch) >= lease.until_us {
            return;
        }
        self.leases.retain(|held| held.epoch < lease.epoch || held.until_us > lease.until_us);
        let index = self.leases.partition_point(|held| held.epoch < lease.epoch);
        self.leases.insert(index, lease);
        if self.leases.len() > LEASES_MAX {
            self.leases.remove(0); // The one that ends first.
        }
    }

    /// Until when it may decide under the topology of `epoch`; 0 = not at all. An older epoch than the leader's last answers
    /// has what earlier answers gave it.
    pub fn until_us(&self, epoch: u64) -> u64 {
        let usable = self.leases.iter().rev().find(|lease| lease.epoch <= epoch);
        usable.map_or(0, |lease| lease.until_us)
    }

    /// What shards are told: how long they may decide under the topology of `epoch`, if no client waits longer for an answer
    /// than `deadline_us`.
    pub fn right(&self, epoch: u64, deadline_us: u64) -> Right {
        Right::new(self.until_us(epoch).saturating_sub(room_for_deadline_us(deadline_us)))
    }

    /// Nobody decides under an epoch before this one any more, so the leader said.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// Ends it: nothing is decided from now on, and whatever answers are still on their way are for nobody.
    ///
    /// To be called once no shard decides any more, since what it returns lets others.
    pub fn give_back(self) -> GiveBack {
        GiveBack { tenure: self.id }
    }
}

#[cfg(test)]
mod tests;
