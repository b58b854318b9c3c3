//! The keys of a run.

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
}
