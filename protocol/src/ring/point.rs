//! What the consistent-hash ring holds: points and placements are hashes already, and are taken as they are.

use std::hash::{BuildHasher, Hash, Hasher};

/// A place on the ring, and the how-manieth it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) at: u64,
    pub(super) index: usize,
}

impl Hash for Point {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.at);
    }
}

/// A hasher that repeats the 64 bits it was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verbatim;

impl BuildHasher for Verbatim {
    type Hasher = VerbatimHasher;

    fn build_hasher(&self) -> VerbatimHasher {
        VerbatimHasher(0)
    }
}

pub(super) struct VerbatimHasher(u64);

impl Hasher for VerbatimHasher {
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a ring hashes points and placements alone, as one u64 each")
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
