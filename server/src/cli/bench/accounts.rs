//! The keys of a run, and the order in which they are asked for.

/// Fewest digits of an account's number in its key.
const DIGITS_MIN: usize = 6;

/// Keys of the form `rl:{acct_000123}:route`: the account in braces places the key, as in Redis Cluster.
#[derive(Clone, Debug)]
pub(super) struct Accounts {
    /// What keys begin with: keys of another prefix are other keys.
    pub(super) prefix: String,
    /// How many there are.
    pub(super) count: u32,
}

impl Accounts {
    /// Digits of every account's number, so that all keys have one length.
    pub(super) fn digits(&self) -> usize {
        let needed = self.count.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1);
        needed.max(DIGITS_MIN)
    }

    /// The key whose account is spelled `digits`.
    pub(super) fn key(&self, digits: &str) -> String {
        format!("{}:{{acct_{digits}}}:route", self.prefix)
    }
}

/// Uniformly drawn numbers that a seed fixes: two runs ask for the same keys in the same order.
///
/// Source: SplitMix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// A number below `count`.
    pub(super) fn below(&mut self, count: u32) -> u32 {
        (((self.next() >> 32) * u64::from(count)) >> 32) as u32
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_run_have_one_length() {
        let check = |count, expect| assert_eq!(Accounts { prefix: "rl".into(), count }.digits(), expect, "{count}");
        check(1, 6);
        check(1_000_000, 6);
        check(1_000_001, 7);
        check(u32::MAX, 10);
    }

    #[test]
    fn a_key_is_placed_by_its_account() {
        assert_eq!(Accounts { prefix: "rl".into(), count: 9 }.key("000007"), "rl:{acct_000007}:route");
    }

    #[test]
    fn draws_are_repeatable_and_cover_what_they_may() {
        let drawn = |seed| {
            let mut draw = Draw::new(seed);
            (0..1_000).map(|_| draw.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert!((0..10).all(|account| drawn(1).contains(&account)));
        assert!(drawn(1).iter().all(|account| *account < 10));
    }
}
