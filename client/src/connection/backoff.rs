//! How long to wait before the next attempt to connect.

use std::time::Duration;

use crate::sys::random::Random;

/// The longest wait before the second attempt.
pub(crate) const WAIT_FIRST: Duration = Duration::from_millis(10);

/// The longest wait before any attempt: a store that is back is found within this time.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(1);

/// Full jitter: each wait is drawn evenly from nothing up to a ceiling that doubles with every failure.
///
/// So a thousand gateways that lost the same node come back spread out, not in waves.
/// Source: Brooker, "Exponential backoff and jitter", 2015.
#[derive(Debug)]
pub(crate) struct Backoff {
    random: Random,
    ceiling: Duration,
}

impl Backoff {
    /// A back-off whose first wait is short.
    pub(crate) fn new(random: Random) -> Backoff {
        Backoff { random, ceiling: WAIT_FIRST }
    }

    /// The next wait.
    pub(crate) fn next_wait(&mut self) -> Duration {
        let ceiling_us = u64::try_from(self.ceiling.as_micros()).expect("a second at most");
        self.ceiling = (self.ceiling * 2).min(WAIT_MAX);
        Duration::from_micros(self.random.up_to(ceiling_us))
    }

    /// An attempt succeeded: the next wait is short again.
    pub(crate) fn reset(&mut self) {
        self.ceiling = WAIT_FIRST;
    }

    /// An attempt was refused in a way that the next one will be too: waits are long from here on.
    pub(crate) fn stop_hurrying(&mut self) {
        self.ceiling = WAIT_MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_their_bound_and_shrink_after_a_success() {
        let mut backoff = Backoff::new(Random::from_seed(1));
        for n in 0..20 {
            let ceiling = (WAIT_FIRST * (1 << n.min(10))).min(WAIT_MAX);
            assert_eq!(backoff.ceiling, ceiling);
            assert!(backoff.next_wait() <= ceiling);
        }
        backoff.reset();
        assert!(backoff.next_wait() <= WAIT_FIRST);
    }

    #[test]
    fn two_clients_wait_differently() {
        let waits = |seed| {
            let mut backoff = Backoff::new(Random::from_seed(seed));
            [(); 5].map(|()| backoff.next_wait())
        };
        assert_ne!(waits(1), waits(2));
    }
}
