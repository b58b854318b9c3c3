//! The error column: how many calls a target admitted, beside the number that the limit allows.
//!
//! Fresh accounts are asked many times, from many connections at once, under a limit that gives nothing back while that
//! lasts. So an account admits the smaller of what it was asked for and its burst, in whatever order the calls arrived,
//! and the sum over all accounts is known to the unit.

use super::bucket::Bucket;

/// Accounts that are asked.
pub(super) const ACCOUNTS: u32 = 1_000;

/// Calls on each, on average: most are asked for more than they have, some for less.
pub(super) const CALLS_PER_ACCOUNT: usize = 20;

/// Calls of a connection that are under way at once.
pub(super) const PIPELINE: usize = 16;

/// What was admitted, and what should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Exactness {
    pub(super) asked: u64,
    pub(super) admitted: u64,
    pub(super) exact: u64,
    /// Calls that were not decided. If there are any, admissions may be fewer than the exact number.
    pub(super) undecided: u64,
}

impl Exactness {
    /// Whether every admission was due, and every due one given.
    pub(super) fn is_exact(&self) -> bool {
        self.admitted <= self.exact && self.exact - self.admitted <= self.undecided
    }
}

/// Units that the accounts admit which were `asked` for so many.
pub(super) fn due(bucket: Bucket, asked: &[u64]) -> u64 {
    asked.iter().map(|asked| bucket.burst.min(*asked)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::bench::bucket::EXACT;

    #[test]
    fn an_account_admits_what_it_is_asked_for_up_to_its_burst() {
        let check = |asked: &[u64], expect| assert_eq!(due(EXACT, asked), expect, "{asked:?}");
        check(&[], 0);
        check(&[0, 3], 3);
        check(&[9, 10, 11, 1_000], 39);
    }

    #[test]
    fn one_admission_too_many_or_too_few_is_no_longer_exact() {
        let check = |admitted, undecided, expect| {
            assert_eq!(Exactness { asked: 20, admitted, exact: 10, undecided }.is_exact(), expect);
        };
        check(10, 0, true);
        check(11, 0, false);
        check(9, 0, false);
        check(9, 1, true);
        check(11, 5, false);
    }
}
