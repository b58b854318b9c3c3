//! The store's time, as the engine sees it: a number handed in, never read from a clock.

/// An instant: microseconds since the Unix epoch, `0 ..= 2^53 - 1` (about the year 2255).
///
/// The bound is the largest integer that every JSON reader keeps exact, and it leaves room for products with limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Timestamp = Timestamp(0);
    /// The last instant that can be named.
    pub const MAX: Timestamp = Timestamp((1 << 53) - 1);

    /// The instant `micros` after the epoch; an instant past [`Timestamp::MAX`] becomes that.
    ///
    /// ```
    /// use tallyring_engine::Timestamp;
    /// assert_eq!(Timestamp::from_micros(7).as_micros(), 7);
    /// assert_eq!(Timestamp::from_micros(u64::MAX), Timestamp::MAX);
    /// ```
    pub const fn from_micros(micros: u64) -> Timestamp {
        if micros > Timestamp::MAX.0 { Timestamp::MAX } else { Timestamp(micros) }
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }
}
