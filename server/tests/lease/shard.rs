//! A shard's turns: read the clock, decide, look at the clock again, write.

use tallyring::cluster::lease::{Fence, Right, Roll, Sealed, Succession};
use tallyring_protocol::NodeId;

use crate::Bug;
use crate::invariants::{Decided, Ledger};
use crate::machine::Machine;
use crate::message::{Body, Outbox};

/// What a turn does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Begin,
    Decide,
    Look,
    Write,
}

pub(crate) struct Shard {
    territory: Roll,
    /// One key of each node.
    ranges: Vec<Succession>,
    right: Right,
    /// When the lease ends that the right is of.
    until_us: u64,
    read_us: u64,
    turn: Option<Sealed<Turn>>,
    let_go: Option<Turn>,
    /// Turns that there was no right for: true time of the last.
    pub(crate) refused_at_us: Vec<u64>,
}

#[derive(Debug)]
struct Turn {
    keys: Vec<usize>,
    epoch: u64,
    /// True time; clients asked at the last moment before.
    at_us: u64,
}

/// Whose a key is: its home's, or that of the next node that is up; nobody's (0) if none is.
pub(crate) fn owner(key: usize, roll: &Roll) -> NodeId {
    let members: Vec<NodeId> = roll.members.keys().copied().collect();
    let order = members.iter().cycle().skip(key).take(members.len());
    order.copied().find(|node| !roll.is_out(*node)).unwrap_or(NodeId(0))
}

impl Shard {
    /// What a process begins with: it knows who owns what, and not who did.
    pub(crate) fn new(id: u64, territory: Roll) -> Shard {
        let range = |key| Succession::new(NodeId(id), territory.epoch, owner(key, &territory));
        Shard {
            ranges: (0..crate::world::KEYS).map(range).collect(),
            territory,
            right: Right::NONE,
            until_us: 0,
            read_us: 0,
            turn: None,
            let_go: None,
            refused_at_us: Vec::new(),
        }
    }

    pub(crate) fn settled(&mut self, epoch: u64) {
        self.ranges.iter_mut().for_each(|range| range.settled(epoch));
    }

    pub(crate) fn moved_on(&mut self, node: u64, epoch: u64) {
        self.ranges.iter_mut().for_each(|range| range.moved_on(NodeId(node), epoch));
    }

    fn follow(&mut self, me: u64, roll: &Roll, bug: Option<Bug>) {
        self.territory = roll.clone();
        for (key, range) in self.ranges.iter_mut().enumerate() {
            range.follow(roll, owner(key, roll));
            if bug == Some(Bug::ImpatientHeir) {
                *range = Succession::new(NodeId(me), roll.epoch, owner(key, roll));
                range.settled(roll.epoch);
            }
        }
    }
}

impl Machine {
    /// Takes a step of a turn; returns the next one.
    pub(crate) fn turn(&mut self, step: Step, true_us: u64, ledger: &mut Ledger, out: &mut Outbox) -> Step {
        let now_us = self.clock.at(true_us);
        match step {
            Step::Begin => self.begin(now_us, out),
            Step::Decide => self.decide(true_us),
            Step::Look => self.look(now_us, true_us, ledger),
            Step::Write => self.write(true_us, ledger),
        }
    }

    fn begin(&mut self, now_us: u64, out: &mut Outbox) -> Step {
        if let Some(until_us) = self.drains_until_us.take() {
            self.drain(until_us, out);
        }
        let agreed = &self.disk.agreed.roll;
        if agreed.epoch > self.shard.territory.epoch {
            self.shard.follow(self.id, agreed, self.bug);
            let epoch = agreed.epoch;
            out.extend(self.others().map(|peer| (peer, Body::MovedOn { epoch })));
        }
        let epoch = self.shard.territory.epoch;
        self.shard.right = self.tenure.right(epoch, self.deadline_us);
        self.shard.until_us = self.tenure.until_us(epoch);
        self.shard.read_us = now_us;
        Step::Decide
    }

    fn decide(&mut self, true_us: u64) -> Step {
        let shard = &mut self.shard;
        let sole =
            || shard.ranges.iter().enumerate().filter(|(_, range)| range.is_sole()).map(|(key, _)| key).collect();
        let decided =
            shard.right.decide(shard.read_us, || Turn { keys: sole(), epoch: shard.territory.epoch, at_us: true_us });
        shard.turn = decided.ok();
        if shard.turn.is_none() {
            shard.refused_at_us.push(true_us);
            return Step::Begin;
        }
        Step::Look
    }

    fn look(&mut self, now_us: u64, true_us: u64, ledger: &mut Ledger) -> Step {
        let looked_us = if self.bug == Some(Bug::LooksOnce) { self.shard.read_us } else { now_us };
        let opened = self.shard.turn.take().map(|sealed| sealed.open(looked_us));
        let Some(Ok(turn)) = opened else { return Step::Begin };
        let fence = Fence { epoch: turn.epoch, holder: NodeId(self.id) };
        for key in &turn.keys {
            let decided = Decided { fence, at_us: turn.at_us, let_go_us: true_us };
            ledger.one_owner_per_key_and_instant(*key, decided);
        }
        self.shard.let_go = Some(turn);
        Step::Write
    }

    /// An answer is on its way for a while; a client whose deadline is over does not take it.
    fn write(&mut self, true_us: u64, ledger: &mut Ledger) -> Step {
        let taken_us = true_us + self.dice.between(100, 3_000);
        if let Some(turn) = self.shard.let_go.take()
            && taken_us <= turn.at_us + self.deadline_us
            && !turn.keys.is_empty()
        {
            ledger.accepted_answers_fall_inside_of_the_lease(self.id, self.clock.at(taken_us), self.shard.until_us);
        }
        Step::Begin
    }
}
