//! Entropy: seeds that nobody outside must guess, and what else is drawn.

pub use self::source::seed;
#[cfg(feature = "sim")]
pub use self::source::start_from;

/// Draws for whoever wants a generator of the rand crate's kind.
pub type Generator = rand::rngs::SmallRng;

#[cfg(not(feature = "sim"))]
mod source {
    /// Sixteen bytes that nobody can guess.
    pub fn seed() -> [u8; 16] {
        let mut seed = [0; 16];
        let filled = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty());
        assert_eq!(filled, Ok(seed.len()), "the kernel gives sixteen random bytes at once, or this machine is broken");
        seed
    }
}

#[cfg(feature = "sim")]
mod source {
    use std::cell::Cell;

    thread_local! {
        /// A simulation is one thread, and so is its entropy.
        static STATE: Cell<u64> = const { Cell::new(0) };
    }

    /// Begins the sequence that `seed` stands for: a simulation that does so first draws the same every time.
    pub fn start_from(seed: u64) {
        STATE.set(seed);
    }

    /// Sixteen bytes: the next of the sequence.
    pub fn seed() -> [u8; 16] {
        let halves = [next(), next()].map(u64::to_le_bytes);
        std::array::from_fn(|at| halves[at / 8][at % 8])
    }

    /// SplitMix64, by Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
    fn next() -> u64 {
        let state = STATE.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        STATE.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// A number from 0 up to and including `most`, as even as 64 random bits can make it.
pub fn up_to(most: u64) -> u64 {
    let (drawn, choices) = (u128::from(word()), u128::from(most) + 1);
    u64::try_from((drawn * choices) >> 64).expect("a choice of so many")
}

/// A generator that begins somewhere else each time. For what nobody gains by guessing.
pub fn generator() -> Generator {
    rand::SeedableRng::seed_from_u64(word())
}

fn word() -> u64 {
    let [_, _, _, _, _, _, _, _, drawn @ ..] = seed();
    u64::from_le_bytes(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_drawn_and_none_beyond() {
        let drawn: std::collections::BTreeSet<u64> = (0..1_000).map(|_| up_to(3)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(up_to(0), 0);
    }
}
