//! The sending end of one shard: reads what has changed, once, and tells every replica its part.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tallyring_engine::{Engine, Placements, Timestamp};
use tallyring_protocol::NodeId;
use tallyring_protocol::bounds::NODES_MAX;

use super::stream::{Lag, Mark, Reading, Stream};

/// How often a shard is to read what has changed, in microseconds: what an asynchronous rule may forget in a crash, and
/// about what a `sync` reply waits. Half of the clients' default deadline, so that such a reply is in time.
pub const FLUSH_EVERY_US: u64 = 2_500;

/// One shard's streams, one to each node that has a part of its keys as their replica.
#[derive(Debug, Default)]
pub struct Source {
    streams: BTreeMap<NodeId, Stream>,
    readings: Reading,
    /// When the last reading was.
    read_at: Timestamp,
}

/// Streams to more nodes than a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a shard has at most {NODES_MAX} replicas")]
pub struct TooManyReplicas;

impl Source {
    /// From now on `replica` is to hold what this shard has `within`. A range that has changed is filled anew.
    ///
    /// # Errors
    /// There are as many replicas as nodes in the largest cluster.
    pub fn assign(&mut self, replica: NodeId, within: Placements) -> Result<(), TooManyReplicas> {
        let is_full = self.streams.len() >= NODES_MAX;
        match self.streams.entry(replica) {
            Entry::Vacant(_) if is_full => return Err(TooManyReplicas),
            Entry::Vacant(place) => {
                place.insert(Stream::new(within));
            }
            Entry::Occupied(known) if *known.get().within() == within => {}
            Entry::Occupied(mut known) => known.get_mut().reassign(within, self.readings),
        }
        Ok(())
    }

    /// `replica` holds nothing of this shard any more.
    pub fn dismiss(&mut self, replica: NodeId) {
        self.streams.remove(&replica);
    }

    /// The stream to `replica`: what is sent, and what is acknowledged.
    pub fn stream(&mut self, replica: NodeId) -> Option<&mut Stream> {
        self.streams.get_mut(&replica)
    }

    /// A connection to `replica` is there, which has everything through `position`.
    pub fn connect(&mut self, replica: NodeId, position: tallyring_engine::Version) {
        if let Some(stream) = self.streams.get_mut(&replica) {
            stream.connect(position, self.readings);
        }
    }

    /// Reads what has changed and a part of what is to be filled, and puts it behind what is to be sent. Call it every
    /// [`FLUSH_EVERY_US`], between two turns.
    ///
    /// While no replica is there, nothing is noted and nothing read.
    pub fn flush(&mut self, engine: &mut Engine, now: Timestamp) {
        if !self.streams.values().any(Stream::is_told) {
            return self.stop_following(engine);
        }
        engine.follow_changes();
        for stream in self.streams.values_mut() {
            stream.go_on_filling(engine, now, self.readings);
        }
        self.read_changes(engine, now);
        self.end_fills(engine, now);
        let mark = Mark { reading: self.readings, units: engine.units_charged() };
        self.streams.values_mut().for_each(|stream| stream.complete(mark));
        self.read_at = engine.advance(now);
    }

    /// What a reply has to wait for that was decided just now: the reading that will find its change, or the last one if
    /// all changes have been read. Ask [`Stream::arrived`] whether a replica has it.
    pub fn awaited(&self, engine: &Engine) -> Reading {
        self.readings + u64::from(engine.has_changes())
    }

    /// How far `replica` is behind; `None` if it is not whole.
    pub fn lag(&self, replica: NodeId, engine: &Engine, now: Timestamp) -> Option<Lag> {
        self.streams.get(&replica)?.lag(engine, now, self.read_at)
    }

    /// Bytes kept for replicas.
    pub fn bytes(&self) -> usize {
        self.streams.values().map(Stream::bytes).sum()
    }

    /// What was noted is read by nobody: a reply that waits for it waits for the end of a fill.
    fn stop_following(&mut self, engine: &mut Engine) {
        self.readings += u64::from(engine.has_changes());
        engine.unfollow_changes();
    }

    /// One reading, of as many batches as it takes: no call comes between them.
    fn read_changes(&mut self, engine: &mut Engine, now: Timestamp) {
        if !engine.has_changes() {
            return;
        }
        self.readings += 1;
        while engine.has_changes() {
            match engine.changes(now) {
                Ok(batch) => self.each(|stream, readings, since| stream.tell(&batch, since, readings)),
                Err(_) => self.each(|stream, readings, _| stream.start_over(readings)),
            }
        }
    }

    fn end_fills(&mut self, engine: &mut Engine, now: Timestamp) {
        for stream in self.streams.values_mut().filter(|stream| stream.is_read()) {
            let nothing =
                engine.changes(now).expect("changes are lost by calls, and there was none since they were read");
            stream.end_filling(nothing, self.readings);
        }
    }

    fn each(&mut self, tell: impl Fn(&mut Stream, Reading, Timestamp)) {
        let (readings, since) = (self.readings, self.read_at);
        self.streams.values_mut().for_each(|stream| tell(stream, readings, since));
    }
}
