//! A map by keyed hashes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by the keyed hashes that keys are known by in this gateway. They are hashed under a secret already: nobody
/// outside chooses what collides, and to hash them once more would only take time.
pub(crate) type Identities<V> = HashMap<u64, V, BuildHasherDefault<AsItIs>>;

/// The hash of a hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("identities are written as one number")
    }

    fn write_u64(&mut self, identity: u64) {
        self.0 = identity;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
