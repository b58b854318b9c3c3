//! SipHash-1-3 of bytes that lie together: half the instructions of a hasher that may be fed in pieces.
//!
//! Every request is hashed twice, for its place and for its identity; together that is a third of a decision.
//!
//! Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, with one and three rounds.

use siphasher::sip::SipHasher13;

/// Bytes of a word.
const WORD: usize = 8;

/// A secret under which bytes are hashed.
#[derive(Clone, Copy)]
pub(crate) struct Sip {
    key: [u64; 2],
}

impl Sip {
    pub(crate) fn new(secret: &[u8; 16]) -> Sip {
        let (words, _) = secret.as_chunks::<WORD>();
        Sip { key: [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])] }
    }

    pub(crate) const fn of_words(key: [u64; 2]) -> Sip {
        Sip { key }
    }

    /// The hash of `bytes`.
    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let (words, _) = bytes.as_chunks::<WORD>();
        let mut state = State::new(self.key);
        for word in words {
            state.absorb(u64::from_le_bytes(*word));
        }
        state.absorb(last_word(bytes));
        state.finish()
    }

    /// A hasher under the same secret for what does not lie together.
    pub(crate) fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.key[0], self.key[1])
    }
}

/// The word that ends a message: the bytes that fill no word of their own, and the length in the highest byte.
#[inline]
fn last_word(bytes: &[u8]) -> u64 {
    let length = (bytes.len() as u64) << 56;
    let (_, rest) = bytes.as_chunks::<WORD>();
    let rest = match (bytes.last_chunk::<WORD>(), rest.len()) {
        (_, 0) => 0,
        // One load, out of which the bytes that were absorbed already are shifted.
        (Some(last), len) => u64::from_le_bytes(*last) >> (8 * (WORD - len)),
        (None, _) => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    rest | length
}

struct State([u64; 4]);

impl State {
    #[inline]
    fn new([k0, k1]: [u64; 2]) -> State {
        let initial = [k0, k1, k0, k1];
        // "somepseudorandomlygeneratedbytes", as the paper has it.
        let constants = [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
        State(std::array::from_fn(|i| initial[i] ^ constants[i]))
    }

    #[inline]
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    #[inline]
    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        (0..3).for_each(|_| self.round());
        self.0.into_iter().fold(0, |hash, word| hash ^ word)
    }

    #[inline]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32).wrapping_add(d);
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_hashes_as_the_hasher_fed_in_pieces() {
        use std::hash::Hasher as _;
        let sip = Sip::new(&std::array::from_fn(|i| i as u8));
        let bytes: Vec<u8> = (0..600u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for len in 0..=bytes.len() {
            let mut pieces = sip.hasher();
            bytes[..len].chunks(5).for_each(|piece| pieces.write(piece));
            assert_eq!(sip.hash(&bytes[..len]), pieces.finish(), "{len} bytes");
        }
    }
}
