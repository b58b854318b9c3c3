//! A hash for maps whose keys an operator chose.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map that is filled by a document alone. Whoever sends requests can look things up in it but puts nothing in, so there
/// is nobody to choose what collides, and the hash may be the fastest that spreads well.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// Multiplies and folds a word at a time.
///
/// Source: the folded multiplication of wyhash; its constants are digits of the golden ratio and of pi.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WordHasher(u64);

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
const INCREMENT: u64 = 0x2436_3F84_A885_A308;

impl WordHasher {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ INCREMENT) * u128::from(MULTIPLIER);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length tells a short rest from one with zeros.
        self.add(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, number: u8) {
        self.add(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::Hash;

    use super::*;

    fn hash(value: impl Hash) -> u64 {
        let mut hasher = WordHasher::default();
        value.hash(&mut hasher);
        hasher.finish()
    }

    /// A table picks places by the lowest bits and tells apart by the highest: both must spread.
    fn check_spread<T: Hash>(values: impl Iterator<Item = T>) {
        let hashes: Vec<u64> = values.map(hash).collect();
        let distinct = |bits: fn(u64) -> u64| hashes.iter().map(|hash| bits(*hash)).collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(|hash| hash), hashes.len());
        assert!(distinct(|hash| hash & 0xFFFF) > hashes.len() * 8 / 10, "low bits");
        assert!(distinct(|hash| hash >> 57) > 120, "high bits");
    }

    #[test]
    fn what_differs_a_little_is_far_apart() {
        check_spread((0..10_000).map(|n| format!("cust_{n}")));
        check_spread((0..10_000_u32).map(|n| (n / 100, n % 100)));
        check_spread((0..10_000_u32).map(|n| std::net::IpAddr::from(n.to_be_bytes())));
        check_spread((0..300).map(|n| "\0".repeat(n)).chain((0..300).map(|n| "a".repeat(n + 1))));
    }
}
