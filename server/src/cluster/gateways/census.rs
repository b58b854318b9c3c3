//! A census: which gateways one node has seen, small enough to be told to every other node whenever it changes.
//!
//! A gateway is connected to many nodes and counts once, so nodes cannot add their numbers up. Each tells the hashes of its
//! gateways' instance ids, the smallest ones up to a bound. Up to the bound the union is counted exactly. Beyond it, the
//! largest of the smallest hashes says how densely all of them lie, and so how many they are, within some three per cent.
//!
//! Source: Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan, "Counting distinct elements in a data stream", 2002, first
//! algorithm; standard error 1/√(k − 2).

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

/// Hashes that a census has: so many gateways are counted exactly.
pub const CENSUS_MAX: usize = 1_024;

/// The smallest hashes of some gateways' instance ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct Census {
    /// Ascending, each once, at most [`CENSUS_MAX`].
    smallest: Vec<u64>,
}

/// Hashes that no census has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CensusError {
    /// Too many.
    #[error("census: {count} hashes, at most {CENSUS_MAX} are told")]
    TooMany {
        /// How many they are.
        count: usize,
    },
    /// Not in order, or one twice.
    #[error("census: hashes are in ascending order, each once")]
    Unordered,
}

impl Census {
    /// The census of these instances, of which one may come twice.
    pub fn of(instances: impl IntoIterator<Item = u128>) -> Census {
        Census::of_hashes(instances.into_iter().map(hash).collect())
    }

    fn of_hashes(mut hashes: Vec<u64>) -> Census {
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(CENSUS_MAX);
        Census { smallest: hashes }
    }

    /// The census of all gateways that either one has seen.
    pub fn union(&self, other: &Census) -> Census {
        Census::of_hashes([&self.smallest[..], &other.smallest].concat())
    }

    /// How many gateways they are: exactly below [`CENSUS_MAX`], about so many from there on.
    pub fn count(&self) -> u32 {
        let [.., largest] = self.smallest[..] else { return 0 };
        if self.smallest.len() < CENSUS_MAX {
            return u32::try_from(self.smallest.len()).expect("fewer than CENSUS_MAX");
        }
        // The largest is above zero, for it is not the only one.
        let estimate = (u128::from(u64::MAX) * (CENSUS_MAX as u128 - 1)) / u128::from(largest);
        u32::try_from(estimate).unwrap_or(u32::MAX)
    }
}

/// Instance ids are random, but an id is what a client says that it is: hashes lie evenly all the same.
fn hash(instance: u128) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    hasher.write(&instance.to_le_bytes());
    hasher.finish()
}

impl From<Census> for Vec<u64> {
    fn from(census: Census) -> Vec<u64> {
        census.smallest
    }
}

impl TryFrom<Vec<u64>> for Census {
    type Error = CensusError;

    fn try_from(smallest: Vec<u64>) -> Result<Census, CensusError> {
        if smallest.len() > CENSUS_MAX {
            return Err(CensusError::TooMany { count: smallest.len() });
        }
        if !smallest.is_sorted_by(|one, next| one < next) {
            return Err(CensusError::Unordered);
        }
        Ok(Census { smallest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: u128, to: u128) -> Census {
        Census::of(from..to)
    }

    #[test]
    fn a_gateway_that_two_nodes_have_seen_counts_once() {
        let check = |one: Census, other: Census, expect| {
            assert_eq!((one.union(&other).count(), other.union(&one).count()), (expect, expect));
        };
        check(range(0, 0), range(0, 0), 0);
        check(range(0, 3), range(0, 0), 3);
        check(range(0, 3), range(2, 5), 5);
        check(range(0, 1_000), range(500, 1_023), 1_023);
        check(Census::of([7, 7, 7]), Census::of([7]), 1);
    }

    #[test]
    fn beyond_the_bound_the_number_is_about_right() {
        for count in [1_024, 2_000, 10_000, 100_000_u32] {
            let parts = (0..4).map(|node| Census::of((0..u128::from(count)).filter(|no| no % 5 != node)));
            let all = parts.fold(Census::default(), |all, part| all.union(&part));
            let off = all.count().abs_diff(count);
            assert!(off * 100 <= count * 10, "{} of {count}", all.count());
            assert_eq!(all, Census::of(0..u128::from(count)), "however they were spread over nodes");
        }
    }

    #[test]
    fn a_census_survives_its_way_and_nonsense_is_none() {
        let census = range(0, 2_000);
        let told = Vec::from(census.clone());
        assert_eq!((told.len(), Census::try_from(told)), (CENSUS_MAX, Ok(census)));
        let check = |hashes: Vec<u64>, error| assert_eq!(Census::try_from(hashes), Err(error));
        check(vec![2, 1], CensusError::Unordered);
        check(vec![1, 1], CensusError::Unordered);
        check((0..=CENSUS_MAX as u64).collect(), CensusError::TooMany { count: CENSUS_MAX + 1 });
    }
}
