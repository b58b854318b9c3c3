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
