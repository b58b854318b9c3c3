//! The way between one owner's shard and one replica node, and back.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tallyring_engine::*;
use tallyring_protocol::NodeId;

use super::Bug;
use super::world::{export_all, shard_of};
use crate::cluster::lease::Fence;
use crate::cluster::replica::{Flush, Refused, Source, Standby};

const OWNER: Fence = Fence { epoch: 1, holder: NodeId(99) };

pub(super) struct Link {
    node: NodeId,
    within: Placements,
    standbys: Vec<Standby>,
    is_up: bool,
    on_its_way: VecDeque<Bytes>,
    acknowledgements: VecDeque<Version>,
    /// What the owner held after each flush.
    history: BTreeMap<Version, Vec<Batch>>,
}

impl Link {
    pub(super) fn new(node: NodeId, within: Placements, shards: usize, bug: Option<Bug>) -> Link {
        let standby = |_| {
            let mut standby = Standby::new(within.clone(), OWNER);
            standby.bug = bug;
            standby
        };
        Link {
            node,
            standbys: (0..shards).map(standby).collect(),
            within,
            is_up: false,
            on_its_way: VecDeque::new(),
            acknowledgements: VecDeque::new(),
            history: BTreeMap::new(),
        }
    }

    /// Remembers what the owner holds, under the flush that says so: a new one, unless what it says could not be kept.
    pub(super) fn record(&mut self, source: &mut Source, engine: &mut Engine, now: Timestamp) {
        let last = source.stream(self.node).expect("it was assigned").last();
        self.history.entry(last).or_insert_with(|| export_all(engine, now, &self.within));
    }

    pub(super) fn connect(&mut self, source: &mut Source) {
        if !self.is_up {
            self.is_up = true;
            source.connect(self.node, self.position());
        }
    }

    pub(super) fn break_off(&mut self, source: &mut Source) {
        self.is_up = false;
        self.on_its_way.clear();
        self.acknowledgements.clear();
        source.stream(self.node).expect("it was assigned").disconnect();
    }

    /// Some flushes arrive; one that is refused ends the connection.
    pub(super) fn deliver(&mut self, source: &mut Source, engines: &mut [Engine], now: Timestamp, flushes: usize) {
        self.send(source);
        for _ in 0..flushes {
            let Some(bytes) = self.on_its_way.pop_front() else { break };
            if self.take(engines, now, &bytes).is_err() {
                return self.break_off(source);
            }
            self.acknowledgements.push_back(self.position());
        }
    }

    /// One flush does not arrive.
    pub(super) fn lose_one(&mut self, source: &mut Source) {
        self.send(source);
        self.on_its_way.pop_front();
    }

    pub(super) fn acknowledge(&mut self, source: &mut Source) {
        let stream = source.stream(self.node).expect("it was assigned");
        self.acknowledgements.drain(..).for_each(|position| stream.acknowledge(position));
    }

    pub(super) fn sweep(&mut self, engines: &mut [Engine]) {
        for (standby, engine) in self.standbys.iter_mut().zip(engines) {
            standby.sweep(engine);
        }
        self.acknowledgements.push_back(self.position());
    }

    /// The owner is gone; what it sent arrives when somebody else owns its keys.
    pub(super) fn fail_over(&mut self, source: &mut Source, engines: &mut [Engine], now: Timestamp) {
        self.standbys.iter_mut().for_each(|standby| standby.fence(Fence { epoch: 2, holder: self.node }));
        let position = self.position();
        self.send(source);
        while let Some(bytes) = self.on_its_way.pop_front() {
            let _ = self.take(engines, now, &bytes);
        }
        self.standbys.iter().for_each(|standby| assert!(standby.bug.is_some() || standby.position() >= position));
    }

    /// What the owner held at the flush at which the replica stands; `None` if the replica is not whole.
    pub(super) fn owners_state(&self) -> Option<&[Batch]> {
        let is_settled =
            self.standbys.iter().all(|standby| standby.is_whole() && standby.position() == self.position());
        is_settled.then(|| &self.history[&self.position()][..])
    }

    pub(super) fn within(&self) -> &Placements {
        &self.within
    }

    fn position(&self) -> Version {
        self.standbys.iter().map(Standby::position).min().expect("a node has a shard")
    }

    fn send(&mut self, source: &mut Source) {
        let stream = source.stream(self.node).expect("it was assigned");
        self.on_its_way.extend(std::iter::from_fn(|| stream.next_to_send()));
    }

    fn take(&mut self, engines: &mut [Engine], now: Timestamp, bytes: &[u8]) -> Result<(), Refused> {
        let flush = Flush::decode(bytes).expect("it was written here");
        let shards = engines.len();
        for (no, (standby, engine)) in self.standbys.iter_mut().zip(engines).enumerate() {
            standby.take(engine, now, &flush.part(|placement| shard_of(placement, shards) == no))?;
        }
        Ok(())
    }
}
