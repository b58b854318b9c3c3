//! What the engine calls a key, an id and a holder: hashes, here with fixed seeds, so that a trace is the same anywhere.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;
use tallyring_engine::{Algorithm, Identity};

/// Seeds of the two hashes: a trace has no attackers.
const PLACEMENT_SEED: (u64, u64) = (1, 1);
const IDENTITY_SEED: (u64, u64) = (2, 2);

/// A key as an event spells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a>(pub(super) &'a str);

impl Name<'_> {
    /// The key's counter of one algorithm.
    pub(super) fn identity(self, algorithm: Algorithm) -> Identity {
        Identity { placement: self.placement(), identity: self.with("algorithm", algorithm.name()) }
    }

    /// The reservation of that id: ids belong to the key.
    pub(super) fn reservation(self, id: &str) -> Identity {
        Identity { placement: self.placement(), identity: self.with("id", id) }
    }

    /// The holder of that name.
    pub(super) fn holder(self, holder: &str) -> u64 {
        self.with("holder", holder)
    }

    fn placement(self) -> u64 {
        hash(PLACEMENT_SEED, [self.0])
    }

    fn with(self, what: &str, name: &str) -> u64 {
        hash(IDENTITY_SEED, [what, self.0, name])
    }
}

/// Hashes texts, each behind its length, so that no two lists of texts look alike.
fn hash<const N: usize>(seed: (u64, u64), texts: [&str; N]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(seed.0, seed.1);
    for text in texts {
        hasher.write(&(text.len() as u64).to_le_bytes());
        hasher.write(text.as_bytes());
    }
    hasher.finish()
}
