//! A shard without its sockets: hash, prefetch, decide, batch by batch.

use tallyring::limits::code_of;
use tallyring_engine::{Algorithm, Ask, Bounds, Decision, Engine, Identity, Limit, LimitId, Period, Timestamp};
use tallyring_protocol::{AlgorithmCode, IdentityHasher, IdentityKey, KeyRef, PlacementSeed};

use crate::BATCH;
use crate::keys::Keys;

/// An hour, in microseconds: the period of every limit here, so that a run sees no key expire.
const PERIOD_US: u64 = 3_600_000_000;

/// When every run begins, in microseconds since the Unix epoch.
const START_US: u64 = 1_800_000_000_000_000;

/// Microseconds from one batch to the next: about what a busy shard needs for it.
const BATCH_US: u64 = 10;

/// An engine, the hashes in front of it, and one limit.
#[derive(Debug)]
pub struct Shard {
    engine: Engine,
    placement: PlacementSeed,
    hasher: IdentityHasher,
    code: AlgorithmCode,
    limit: LimitId,
    now_us: u64,
    identities: Vec<Identity>,
}

impl Shard {
    /// An empty shard whose keys may have `units` an hour under `algorithm`.
    ///
    /// # Panics
    /// If no limit can have so many units.
    pub fn new(algorithm: Algorithm, units: u64) -> Shard {
        let mut engine = Engine::new(Bounds::default());
        let limit = Limit::new(algorithm, units, Period::Micros(PERIOD_US), None).expect("the limit is in its ranges");
        let limit = engine.intern("", limit).expect("the first limit always has room");
        Shard {
            engine,
            placement: PlacementSeed([1; 16]),
            hasher: IdentityHasher::new(IdentityKey([2; 16])),
            code: code_of(algorithm),
            limit,
            now_us: START_US,
            identities: Vec::with_capacity(BATCH),
        }
    }

    /// The same with every account of `keys` charged once.
    pub fn filled(algorithm: Algorithm, units: u64, keys: &Keys) -> Shard {
        let (mut shard, mut blocks) = (Shard::new(algorithm, units), Vec::new());
        let accounts: Vec<u32> = (0..keys.accounts()).collect();
        for batch in accounts.chunks(BATCH) {
            blocks.clear();
            batch.iter().for_each(|account| keys.put(*account, &mut blocks));
            shard.check(keys, &blocks);
        }
        shard
    }

    /// From now on as if a replica followed.
    pub fn follow_changes(&mut self) {
        self.engine.follow_changes();
    }

    /// Hashes, prefetches and then charges every key of `blocks` with one unit; how many were allowed.
    pub fn check(&mut self, keys: &Keys, blocks: &[u8]) -> usize {
        let mut identities = std::mem::take(&mut self.identities);
        identities.clear();
        identities.extend(keys.read(blocks).map(|key| self.identity(key)));
        self.engine.prefetch(&identities);
        self.identities = identities;
        self.decide()
    }

    /// Charges the keys of the last [`check`](Shard::check) again, whose hashes are known: the engine alone.
    pub fn decide(&mut self) -> usize {
        self.now_us += BATCH_US;
        let now = Timestamp::from_micros(self.now_us);
        let mut allowed = 0;
        for identity in &self.identities {
            let decision = self.engine.check(now, *identity, self.limit, Ask::new(1)).expect("memory suffices");
            allowed += usize::from(decision.allowed);
        }
        allowed
    }

    /// Prefetches and then charges every key with one unit, in order.
    pub fn decide_each(&mut self, identities: &[Identity], mut each: impl FnMut(Decision)) {
        self.engine.prefetch(identities);
        self.now_us += BATCH_US;
        let now = Timestamp::from_micros(self.now_us);
        for identity in identities {
            each(self.engine.check(now, *identity, self.limit, Ask::new(1)).expect("memory suffices"));
        }
    }

    /// Lets time pass, in microseconds.
    pub fn pass(&mut self, micros: u64) {
        self.now_us += micros;
    }

    /// Lets a whole period pass: every window that is current now has ended.
    pub fn pass_a_period(&mut self) {
        self.pass(PERIOD_US);
    }

    /// Looks at up to `entries_max` keys that should be whole again; how many were forgotten.
    pub fn expire(&mut self, entries_max: usize) -> usize {
        self.engine.expire(Timestamp::from_micros(self.now_us), entries_max)
    }

    /// Both hashes of a key.
    #[inline]
    pub fn identity(&self, key: KeyRef<'_>) -> Identity {
        Identity { placement: self.placement.place(key).0, identity: self.hasher.identity(key, self.code) }
    }

    /// Keys that have state.
    pub fn keys(&self) -> usize {
        self.engine.keys()
    }

    /// Bytes that their state takes.
    pub fn bytes(&self) -> usize {
        self.engine.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_shard_has_every_account_and_one_unit_less() {
        let keys = Keys::of(1_000);
        let mut shard = Shard::filled(Algorithm::TokenBucket, 2, &keys);
        assert_eq!(shard.keys(), 1_000);
        let mut blocks = Vec::new();
        keys.put(7, &mut blocks);
        assert_eq!((shard.check(&keys, &blocks), shard.decide()), (1, 0));
    }
}
