//! Exponential back-off with full jitter: for a failure whose end nobody knows.

use std::time::Duration;

use crate::sys::random::SharedRandom;

/// How long to wait when nobody said it: evenly drawn from nothing to a bound that doubles with every retry.
///
/// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: of the variants measured there, drawing from
/// zero spreads callers best and makes the fewest calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The bound of the first retry's wait.
    pub first: Duration,
    /// The bound that doubling stops at.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { first: Duration::from_millis(100), most: Duration::from_secs(20) }
    }
}

impl Backoff {
    /// The longest wait before a retry, counted from 0.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tallyring_client::retry::Backoff;
    ///
    /// let backoff = Backoff { first: Duration::from_millis(100), most: Duration::from_secs(1) };
    /// assert_eq!(backoff.bound(0), Duration::from_millis(100));
    /// assert_eq!(backoff.bound(2), Duration::from_millis(400));
    /// assert_eq!(backoff.bound(99), Duration::from_secs(1));
    /// ```
    pub fn bound(&self, retry: u32) -> Duration {
        let factor = 1_u32.checked_shl(retry).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.most)
    }

    pub(super) fn draw(&self, retry: u32, random: &SharedRandom) -> Duration {
        random.duration_up_to(self.bound(retry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_fill_the_whole_span_from_nothing_to_the_bound() {
        let (backoff, random) = (Backoff::default(), SharedRandom::from_seed(1));
        for retry in [0, 1, 5, 31, 32, u32::MAX] {
            let bound = backoff.bound(retry);
            let waits: Vec<Duration> = (0..1_000).map(|_| backoff.draw(retry, &random)).collect();
            assert!(waits.iter().all(|wait| *wait <= bound), "retry {retry}");
            assert!(waits.iter().any(|wait| *wait < bound / 50), "retry {retry}");
            assert!(waits.iter().any(|wait| *wait > bound / 50 * 49), "retry {retry}");
        }
    }
}
