//! Keys as a shard reads them from a socket: blocks of bytes, drawn at random, made anew for every batch.

use tallyring_protocol::{Key, KeyRef};

/// Digits of an account's number: enough for ten million.
const DIGITS: usize = 8;

/// The key of which all others differ in their digits only.
const PATTERN: &[u8] = b"rl:{acct_00000000}:route";

/// The digits of [`PATTERN`].
const ZEROS: &[u8; DIGITS] = b"00000000";

/// An endless sequence of keys of some accounts, the same in every run.
///
/// Numbers are SplitMix64's (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Keys {
    accounts: u32,
    state: u64,
    block: Vec<u8>,
    digits_at: Vec<usize>,
}

impl Keys {
    /// Keys of the accounts `0 .. accounts`.
    ///
    /// # Panics
    /// If `accounts` has more than eight digits or is 0.
    pub fn of(accounts: u32) -> Keys {
        assert!((1..=100_000_000).contains(&accounts), "accounts have eight digits");
        let block = Key::raw(PATTERN).expect("the pattern is short and not empty").as_ref().block().to_vec();
        let digits_at = block.windows(DIGITS).enumerate().filter(|(_, w)| w == ZEROS).map(|(at, _)| at).collect();
        Keys { accounts, state: 0, block, digits_at }
    }

    /// How many accounts there are.
    pub fn accounts(&self) -> u32 {
        self.accounts
    }

    /// Puts the keys of the next `count` random accounts in `blocks`, one behind the other, each of
    /// [`block_bytes`](Keys::block_bytes).
    pub fn draw(&mut self, count: usize, blocks: &mut Vec<u8>) {
        blocks.clear();
        for _ in 0..count {
            let account = self.below(self.accounts);
            self.put(account, blocks);
        }
    }

    /// Appends the key of `account`.
    pub fn put(&self, account: u32, blocks: &mut Vec<u8>) {
        let start = blocks.len();
        blocks.extend_from_slice(&self.block);
        for at in &self.digits_at {
            spell(account, &mut blocks[start + at..][..DIGITS]);
        }
    }

    /// The length of every key's block, in bytes.
    pub fn block_bytes(&self) -> usize {
        self.block.len()
    }

    /// The keys that [`draw`](Keys::draw) or [`put`](Keys::put) left in `blocks`.
    pub fn read<'a>(&self, blocks: &'a [u8]) -> impl Iterator<Item = KeyRef<'a>> {
        blocks.chunks_exact(self.block.len()).map(|block| KeyRef::from_block(block).expect("it was written here"))
    }

    fn below(&mut self, count: u32) -> u32 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let random = (mixed ^ (mixed >> 31)) >> 32;
        ((random * u64::from(count)) >> 32) as u32
    }
}

fn spell(mut number: u32, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_placed_by_its_account() {
        let (keys, mut blocks) = (Keys::of(100_000_000), Vec::new());
        keys.put(1_234, &mut blocks);
        keys.put(99_999_999, &mut blocks);
        let read: Vec<KeyRef<'_>> = keys.read(&blocks).collect();
        assert_eq!((read[0].tag(), read[0].rest()), (&b"acct_00001234"[..], &b"rl:{acct_00001234}:route"[..]));
        assert_eq!(read[1].tag(), b"acct_99999999");
    }

    #[test]
    fn batches_differ_and_runs_do_not() {
        let drawn = |batches: usize| {
            let (mut keys, mut blocks) = (Keys::of(1_000), Vec::new());
            (0..batches).for_each(|_| keys.draw(crate::BATCH, &mut blocks));
            blocks
        };
        assert_eq!(drawn(2), drawn(2));
        assert_ne!(drawn(1), drawn(2));
        assert_eq!(drawn(1).len(), crate::BATCH * Keys::of(1_000).block_bytes());
    }
}
