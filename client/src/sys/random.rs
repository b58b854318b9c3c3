//! Numbers that nobody needs to guess wrong, only to draw apart: instance ids and jitter.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the state of a generator grows by with each number: odd, so that it comes round to every state.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A SplitMix64 generator: eight bytes of state, one multiplication chain a number, every seed good.
///
/// Not for secrets. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator that repeats itself for the same seed.
    pub(crate) fn from_seed(seed: u64) -> Random {
        Random(seed)
    }

    /// A generator seeded by the operating system; in a simulation, by a constant.
    pub(crate) fn from_os() -> Random {
        Random(entropy())
    }

    /// The next 64 bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// The next 128 bits.
    pub(crate) fn next_u128(&mut self) -> u128 {
        u128::from(self.next_u64()) << 64 | u128::from(self.next_u64())
    }

    /// A number from 0 up to and including `most`, evenly.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        scaled(self.next_u64(), most)
    }
}

/// A [`Random`] that many draw from at once: its state only grows, so that one atomic addition is a draw.
#[derive(Debug)]
pub(crate) struct SharedRandom(AtomicU64);

impl SharedRandom {
    /// A generator that repeats itself for the same seed.
    pub(crate) fn from_seed(seed: u64) -> SharedRandom {
        SharedRandom(AtomicU64::new(seed))
    }

    /// A generator seeded by the operating system; in a simulation, by a constant.
    pub(crate) fn from_os() -> SharedRandom {
        SharedRandom::from_seed(entropy())
    }

    /// A number from 0 up to and including `most`, evenly.
    pub(crate) fn up_to(&self, most: u64) -> u64 {
        let before = self.0.fetch_add(STEP, Ordering::Relaxed);
        scaled(mixed(before.wrapping_add(STEP)), most)
    }

    /// A time from nothing up to and including `most`, evenly, in whole microseconds.
    pub(crate) fn duration_up_to(&self, most: Duration) -> Duration {
        Duration::from_micros(self.up_to(u64::try_from(most.as_micros()).unwrap_or(u64::MAX)))
    }
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn scaled(drawn: u64, most: u64) -> u64 {
    let scaled = u128::from(drawn) * (u128::from(most) + 1);
    u64::try_from(scaled >> 64).expect("a product's high half is below its factor")
}

#[cfg(not(feature = "sim"))]
#[allow(clippy::disallowed_methods, reason = "the one place where entropy is drawn")]
fn entropy() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

#[cfg(feature = "sim")]
fn entropy() -> u64 {
    0x7461_6C6C_7972_696E
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_numbers() {
        let draw = |seed| {
            let mut random = Random::from_seed(seed);
            [random.next_u64(), random.next_u64()]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_shared_generator_draws_what_one_of_its_own_does() {
        let (mut own, shared) = (Random::from_seed(7), SharedRandom::from_seed(7));
        (0..100).for_each(|most| assert_eq!(own.up_to(most), shared.up_to(most)));
    }

    #[test]
    fn a_bounded_number_reaches_both_ends_and_nothing_else() {
        let mut random = Random::from_seed(1);
        let seen: std::collections::BTreeSet<u64> = (0..1_000).map(|_| random.up_to(3)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(random.up_to(0), 0);
    }
}
