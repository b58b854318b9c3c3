//! The right to decide, as shards hold it: looked at before a turn decides, and again before its answers leave.

/// Until when a shard may decide, and answer; in microseconds of the clock since boot.
///
/// One number, so that it can be handed to shards without a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Right {
    last_us: u64,
}

/// There is no right, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lease: over since {late_us} us")]
pub struct Lapsed {
    /// For how long, in microseconds.
    pub late_us: u64,
}

/// What was decided under a right and has not left yet: whoever wants it looks at the clock again.
///
/// A thread may sleep at any point, and wake up after its successor began. What it read from a socket after it woke up was
/// asked by clients that still wait for an answer, so the clock is read after that, not only before.
#[derive(Debug)]
#[must_use = "what was decided is worth nothing until the clock was looked at again"]
pub struct Sealed<T> {
    decided: T,
    right: Right,
}

impl Right {
    /// No right at all; what everybody begins with.
    pub const NONE: Right = Right { last_us: 0 };

    pub(super) fn new(last_us: u64) -> Right {
        Right { last_us }
    }

    /// Decides, if it may: `decide` is not called otherwise.
    ///
    /// ```
    /// use tallyring::cluster::lease::{Lapsed, Right};
    ///
    /// let refused = Right::NONE.decide(5, || unreachable!("nobody without a lease decides"));
    /// assert_eq!(refused.map(|sealed| sealed.open(5)).err(), Some(Lapsed { late_us: 5 }));
    /// ```
    ///
    /// # Errors
    /// [`Lapsed`]: nothing has happened.
    pub fn decide<T>(self, now_us: u64, decide: impl FnOnce() -> T) -> Result<Sealed<T>, Lapsed> {
        self.check(now_us)?;
        Ok(Sealed { decided: decide(), right: self })
    }

    /// How much longer it lasts, in microseconds; 0 = it is over.
    pub fn margin_us(self, now_us: u64) -> u64 {
        self.last_us.saturating_sub(now_us)
    }

    fn check(self, now_us: u64) -> Result<(), Lapsed> {
        // Nobody holds a right at 0, the instant of boot: it stands for none.
        if self.last_us == 0 || now_us > self.last_us {
            return Err(Lapsed { late_us: now_us.saturating_sub(self.last_us) });
        }
        Ok(())
    }
}

impl<T> Sealed<T> {
    /// What was decided, to be written at once; `now_us` is a reading of the clock that was made for this.
    ///
    /// # Errors
    /// [`Lapsed`]: nobody may be told, for somebody else may have decided meanwhile.
    pub fn open(self, now_us: u64) -> Result<T, Lapsed> {
        self.right.check(now_us)?;
        Ok(self.decided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A right that lasts until 100: decided and written at these instants.
    fn check(decided_us: u64, written_us: u64, expect: Result<&str, Lapsed>) {
        let sealed = Right::new(100).decide(decided_us, || "allowed");
        assert_eq!(sealed.and_then(|sealed| sealed.open(written_us)), expect, "{decided_us} {written_us}");
    }

    #[test]
    fn what_is_decided_leaves_only_while_the_right_lasts() {
        check(0, 0, Ok("allowed"));
        check(100, 100, Ok("allowed"));
        check(100, 101, Err(Lapsed { late_us: 1 }));
        check(0, 900, Err(Lapsed { late_us: 800 }));
        check(101, 101, Err(Lapsed { late_us: 1 }));
    }

    #[test]
    fn without_a_right_nothing_is_decided() {
        let mut decided = 0;
        for (right, now_us) in [(Right::NONE, 0), (Right::NONE, 1), (Right::new(100), 101)] {
            assert!(right.decide(now_us, || decided += 1).is_err(), "{right:?} at {now_us}");
        }
        assert_eq!(decided, 0);
    }

    #[test]
    fn the_margin_ends_at_nothing() {
        assert_eq!([0, 40, 100, 101].map(|now_us| Right::new(100).margin_us(now_us)), [100, 60, 0, 0]);
        assert_eq!(Right::default(), Right::NONE);
    }
}
