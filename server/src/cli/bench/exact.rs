//! The error column: how many calls a target admitted, beside the number that the exact model admits.
//!
//! Fresh accounts are asked many times, from many connections at once, under a limit that gives nothing back while that
//! lasts. So an account admits the smaller of what it was asked for and what it has, in whatever order the calls arrived,
//! and the sum over all accounts is known to the unit. A test holds that sum against the engine, for every algorithm.

use tallyring_engine::Limit;

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

/// Calls that accounts admit which were `asked` for so many, a unit each.
pub(super) fn due(limit: &Limit, asked: &[u64]) -> u64 {
    asked.iter().map(|asked| limit.ceiling().min(*asked)).sum()
}

#[cfg(test)]
mod tests {
    use tallyring_engine::{Algorithm, Ask, Bounds, Engine, Identity, Timestamp};

    use super::*;
    use crate::cli::bench::draw::Draw;
    use crate::cli::bench::numbers;

    #[test]
    fn an_account_admits_what_it_is_asked_for_up_to_what_it_has() {
        let check = |asked: &[u64], expect| {
            assert_eq!(due(&numbers::exact(Algorithm::TokenBucket), asked), expect, "{asked:?}");
        };
        check(&[], 0);
        check(&[0, 3], 3);
        check(&[9, 10, 11, 1_000], 39);
    }

    /// What the engine admits of random calls on 50 accounts, within a second.
    fn admitted_by_the_engine(limit: Limit, asked: &mut [u64]) -> u64 {
        let mut engine = Engine::new(Bounds::default());
        let id = engine.intern("", limit).unwrap();
        let (mut draw, mut admitted) = (Draw::new(3), 0);
        for call in 0..1_000 {
            let now = Timestamp::from_micros(1_800_000_000_000_000 + call * 1_000);
            let account = draw.below(asked.len() as u32);
            asked[account as usize] += 1;
            let identity = Identity { placement: account.into(), identity: account.into() };
            admitted += u64::from(engine.check(now, identity, id, Ask::new(1)).unwrap().allowed);
        }
        admitted
    }

    #[test]
    fn the_exact_number_is_the_engines_under_every_algorithm() {
        for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Concurrency) {
            let (limit, mut asked) = (numbers::exact(algorithm), vec![0; 50]);
            let admitted = admitted_by_the_engine(limit, &mut asked);
            assert!(admitted < 1_000, "the limit is met");
            assert_eq!(due(&limit, &asked), admitted, "{algorithm:?}");
        }
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
