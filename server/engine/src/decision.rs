//! What the engine answers: plain numbers, exact, with one meaning for every algorithm.

/// The answer to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on. A refused request took nothing.
    pub allowed: bool,
    /// The ceiling: a bucket's burst, else the limit.
    pub limit: u64,
    /// Whole units left after this call, rounded down.
    pub remaining: u64,
    /// The smallest wait after which the same call would be allowed if nothing else came; nothing if it is.
    pub retry_after: Wait,
    /// The smallest wait after which the whole budget is free again, in microseconds; 0 if it is now.
    pub reset_after_us: u128,
    /// Units a forced call took; `None` unless forced.
    pub charged: Option<u64>,
    /// How long the caller holds the request so that the output keeps the rate; `None` unless a leaky bucket decided.
    pub delay_us: Option<u128>,
}

/// How long until a refused call can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// So many microseconds, rounded up; 0 is now. Up to 2^86, for the slowest limit with the largest burst.
    Micros(u128),
    /// Waiting cannot help: the call asks for more than the ceiling.
    Never,
}

impl Wait {
    /// No wait at all.
    pub const NOW: Wait = Wait::Micros(0);

    /// Microseconds for a wire that has 63 bits for them; `None` = never.
    ///
    /// ```
    /// use tallyring_engine::Wait;
    /// assert_eq!(Wait::Micros(1 << 80).saturating_us(), Some(i64::MAX as u64));
    /// assert_eq!(Wait::Never.saturating_us(), None);
    /// ```
    pub fn saturating_us(self) -> Option<u64> {
        match self {
            Wait::Micros(micros) => Some(saturating_us(micros)),
            Wait::Never => None,
        }
    }

    /// Microseconds, whole; `None` = never.
    pub const fn exact_us(self) -> Option<u128> {
        match self {
            Wait::Micros(micros) => Some(micros),
            Wait::Never => None,
        }
    }
}

/// Microseconds for a wire that has 63 bits for them: waits over 2^63 - 1 become that (292,000 years).
pub fn saturating_us(micros: u128) -> u64 {
    const WIRE_US_MAX: u64 = i64::MAX as u64;
    u64::try_from(micros).map_or(WIRE_US_MAX, |micros| micros.min(WIRE_US_MAX))
}

/// The answer to a take: whole units handed over to be spent elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Units handed over: as many as there were, up to what was asked.
    pub granted: u64,
    /// Whole units left, rounded down.
    pub remaining: u64,
    /// The smallest wait after which the whole budget is free again, in microseconds.
    pub reset_after_us: u128,
}

/// The answer to a check of several parts at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// Whether every part was allowed. If not, none was charged.
    pub allowed: bool,
    /// The longest wait of the refused parts: a lower bound if a key is named twice.
    pub retry_after: Wait,
}

/// The answer to a settlement that found its reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Whole units left, rounded down.
    pub remaining: u64,
    /// The smallest wait after which the whole budget is free again, in microseconds.
    pub reset_after_us: u128,
}

/// The answer to an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Whether the holder holds what it asked for.
    pub allowed: bool,
    /// Units that may be held at the same time.
    pub limit: u64,
    /// Units held now, this call's included.
    pub in_use: u64,
    /// The smallest wait after which the same call would be allowed if nothing else came.
    pub retry_after: Wait,
}

/// The answer to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Whether the holder held something.
    pub released: bool,
    /// Units held now.
    pub in_use: u64,
}

/// There is no room for another counter: the memory, or this rule's share of it, is used up by live ones.
///
/// A live counter is never dropped to make room: a limiter that silently stops limiting is worse than one that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no room for another counter")]
pub struct Full;

/// Why several parts were not decided at all. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JointError {
    /// A new counter is needed, and there is no room.
    #[error(transparent)]
    Full(#[from] Full),
    /// One (key, algorithm) came under two limits.
    #[error("part {part} names a key of an earlier part under other numbers")]
    TwoLimits {
        /// The later of the two parts, counted from 0.
        part: usize,
    },
}

/// There is no room for another limit's numbers: [`Bounds::limits_max`](crate::Bounds::limits_max) are in
/// use, or [`Bounds::rule_limits_max`](crate::Bounds::rule_limits_max) of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no room for another limit")]
pub struct LimitsFull;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_is_the_longest_wait() {
        assert!(Wait::Never > Wait::Micros(u128::MAX));
        assert!(Wait::Micros(1) > Wait::NOW);
    }

    #[test]
    fn waits_fit_the_wire() {
        assert_eq!(saturating_us(0), 0);
        assert_eq!(saturating_us((1 << 63) - 1), (1 << 63) - 1);
        assert_eq!(saturating_us(1 << 63), (1 << 63) - 1);
        assert_eq!(saturating_us(u128::MAX), (1 << 63) - 1);
    }
}
