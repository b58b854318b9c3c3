//! How long a lease is, and how much longer than its owner its leader takes it to be.
//!
//! True time is what no clock shows. A clock of rate *r* counts *r* seconds in a true one; of two nodes' rates the larger is
//! less than 1.01 times the smaller (the assumption, and the only one; time that a machine is suspended counts). Let an
//! owner ask at true time *a*, and its leader answer at *b* ≥ *a*:
//!
//! ```text
//! the owner decides until       a + 0.98 T / owner's rate
//! the leader gives away after   b + 1.02 T / leader's rate
//! ```
//!
//! so nothing is given away too early as long as leader's rate / owner's rate ≤ 1.02 / 0.98 = 1.0408. With rates that differ by
//! less than 1 % and T = 500 ms, at least 14 ms lie between. No bound on how long a message takes is used anywhere.

use serde::{Deserialize, Serialize};

/// How long a lease is, in microseconds: T.
pub const LEASE_US: u64 = 500_000;

/// The longest lease that any node of a cluster may grant, and so what a new leader waits for, in microseconds.
///
/// A version that means to grant longer ones comes after one, on every node, that waits for them.
pub const LEASE_US_MAX: u64 = 500_000;

/// The shortest: below, one late renewal would cost an owner its right.
pub const LEASE_US_MIN: u64 = 100_000;

/// An owner asks again so often, in microseconds. At the worst moment a lease has 490 − 60 = 430 ms left.
pub const RENEWED_EVERY_US: u64 = 60_000;

/// A leader asks for its quorum's acknowledgement so often, in microseconds.
pub const HEARTBEAT_US: u64 = 30_000;

/// The largest deadline of a client that a lease has room for, in microseconds; longer ones count as this long, and the
/// node says so in the hello.
///
/// When the leader dies at the worst moment, an owner has 430 ms left and decides for 380 of them; the next leader is there
/// 360 ms after the last heartbeat: its death costs no owner its right.
pub const CLIENT_DEADLINE_US_MAX: u64 = 50_000;

/// The part of a lease, counted from the asking, in which its owner may decide, in thousandths.
const OWNER_PERMILLE: u64 = 980;

/// The part of a lease, counted from the answer, after which its leader takes it to be over, in thousandths.
const LEADER_PERMILLE: u64 = 1_020;

/// By how much two nodes' clocks may differ in rate, in thousandths.
const RATES_DIFFER_PERMILLE: u64 = 10;

const _: () = assert!(
    OWNER_PERMILLE * (1_000 + RATES_DIFFER_PERMILLE) < LEADER_PERMILLE * 1_000,
    "a leader whose clock is the faster one outlasts an owner's lease"
);

/// The length of a lease; never zero, never longer than [`LEASE_US_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Length(u64);

/// No length of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lease: {us} us, from {LEASE_US_MIN} to {LEASE_US_MAX} are granted")]
pub struct LengthError {
    /// What it was to be, in microseconds.
    pub us: u64,
}

impl Length {
    /// What this version asks for and grants.
    pub const DEFAULT: Length = Length(LEASE_US);

    /// What a new leader takes everybody to have.
    pub const LONGEST: Length = Length(LEASE_US_MAX);

    /// A lease of so many microseconds.
    ///
    /// # Errors
    /// [`LengthError`] outside of [`LEASE_US_MIN`] and [`LEASE_US_MAX`].
    pub fn new(us: u64) -> Result<Length, LengthError> {
        (LEASE_US_MIN..=LEASE_US_MAX).contains(&us).then_some(Length(us)).ok_or(LengthError { us })
    }

    /// How long after it asked an owner may decide, in microseconds of its clock; rounded down.
    pub fn owner_us(self) -> u64 {
        self.0 * OWNER_PERMILLE / 1_000
    }

    /// How long after it answered a leader gives nothing away, in microseconds of its clock; rounded up, and one more,
    /// because its clock's reading was rounded down.
    pub fn leader_us(self) -> u64 {
        (self.0 * LEADER_PERMILLE).div_ceil(1_000) + 1
    }
}

impl TryFrom<u64> for Length {
    type Error = LengthError;

    fn try_from(us: u64) -> Result<Length, LengthError> {
        Length::new(us)
    }
}

impl From<Length> for u64 {
    fn from(length: Length) -> u64 {
        length.0
    }
}

/// How much of an owner's time a client's deadline takes, in microseconds: the client counts it by a clock of its own.
pub fn room_for_deadline_us(deadline_us: u64) -> u64 {
    let deadline_us = deadline_us.min(CLIENT_DEADLINE_US_MAX);
    deadline_us + (deadline_us * RATES_DIFFER_PERMILLE).div_ceil(1_000) + 1
}

/// How long after it sent a heartbeat that a quorum then acknowledged a leader knows that there is no other one, in
/// microseconds of its clock; `election_us` is the shortest time after which a voter that hears nothing votes for another.
///
/// The voters heard it after it was sent. It holds only if a voter that was started anew votes for nobody during its first
/// `election_us` either: it does not remember whom it heard, and when.
pub fn quorum_holds_us(election_us: u64) -> u64 {
    election_us * OWNER_PERMILLE / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_outlasts_every_owner_whose_clock_keeps_the_promise() {
        for us in [LEASE_US_MIN, LEASE_US_MIN + 1, 333_333, LEASE_US_MAX] {
            let length = Length::new(us).unwrap();
            // Both in true time, multiplied by both rates: the owner's is slow and the leader's fast, a percent apart.
            let (slow, fast) = (995, 1_005);
            assert!(length.owner_us() * fast + us * 10 < length.leader_us() * slow, "{us}");
        }
        assert_eq!((Length::DEFAULT.owner_us(), Length::DEFAULT.leader_us()), (490_000, 510_001));
    }

    #[test]
    fn a_length_that_no_node_grants_is_none() {
        let check = |us, expect: Result<u64, LengthError>| assert_eq!(Length::new(us).map(u64::from), expect);
        check(LEASE_US_MIN, Ok(LEASE_US_MIN));
        check(LEASE_US_MAX, Ok(LEASE_US_MAX));
        check(LEASE_US_MIN - 1, Err(LengthError { us: LEASE_US_MIN - 1 }));
        check(LEASE_US_MAX + 1, Err(LengthError { us: LEASE_US_MAX + 1 }));
        let text = LengthError { us: 7 }.to_string();
        assert_eq!(text, "lease: 7 us, from 100000 to 500000 are granted");
    }

    #[test]
    fn a_deadline_takes_a_little_more_of_a_lease_than_the_client_says() {
        let check = |deadline_us, expect| assert_eq!(room_for_deadline_us(deadline_us), expect);
        check(0, 1);
        check(5_000, 5_051);
        check(CLIENT_DEADLINE_US_MAX, 50_501);
        check(u64::MAX, 50_501);
    }
}
