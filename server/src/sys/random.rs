//! Entropy: seeds that nobody outside must guess, drawn once at start.

/// Sixteen bytes that nobody can guess.
#[cfg(not(feature = "sim"))]
pub fn seed() -> [u8; 16] {
    let mut seed = [0; 16];
    let filled = rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(seed.len()), "the kernel gives sixteen random bytes at once, or this machine is broken");
    seed
}

/// The same sixteen bytes in every simulation.
#[cfg(feature = "sim")]
pub fn seed() -> [u8; 16] {
    *b"tallyring in sim"
}

/// A number from 0 up to and including `most`, as even as 64 random bits can make it.
pub fn up_to(most: u64) -> u64 {
    let [_, _, _, _, _, _, _, _, drawn @ ..] = seed();
    let (drawn, choices) = (u128::from(u64::from_le_bytes(drawn)), u128::from(most) + 1);
    u64::try_from((drawn * choices) >> 64).expect("a choice of so many")
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
