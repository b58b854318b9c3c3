//! The limits that a benchmark asks under: token buckets, the same numbers for every target.

/// The numbers of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Tokens that a period brings.
    pub(super) limit: u64,
    pub(super) period_us: u64,
    /// Tokens that it holds.
    pub(super) burst: u64,
}

const HOUR_US: u64 = 3_600_000_000;

/// Under load: a token an hour. So an account that was emptied stays empty, one that was not never fills up again, and
/// the share of denied calls is the same for a fast target as for a slow one.
pub(super) const LOAD: Bucket = Bucket { limit: 1, period_us: HOUR_US, burst: 1_000 };

/// One account of this many is emptied before the load begins.
pub(super) const EMPTIED_ONE_IN: u32 = 4;

/// Where admissions are counted: no token comes back in a year, so the exact number is known beforehand.
pub(super) const EXACT: Bucket = Bucket { limit: 1, period_us: 400 * 24 * HOUR_US, burst: 10 };
