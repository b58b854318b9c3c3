//! What is held of a key, for whoever asks about the key and not under some limit.

use super::Engine;
use super::keep::Effect;
use crate::algorithm::Budget;
use crate::algorithm::any::AnyCounter;
use crate::algorithm::concurrency::Holders;
use crate::identity::Identity;
use crate::limit::{Algorithm, Limit};
use crate::table::Found;
use crate::time::Timestamp;

/// What is left of a budget under the numbers that it was last charged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Those numbers.
    pub limit: Limit,
    /// Whole units left, rounded down.
    pub remaining: u64,
    /// The smallest wait after which the whole budget is free again, in microseconds; more than 0.
    pub reset_after_us: u128,
}

impl Engine {
    /// What is left of an entry's budget, or of its slots; `None` if it has no state, or has its whole budget again.
    ///
    /// Changes nothing.
    pub fn peek(&mut self, now: Timestamp, identity: Identity) -> Option<Stock> {
        let now = self.advance(now);
        let found = self.table.find(identity)?;
        let limit = *self.limits.get(found.entry.limit);
        let (remaining, reset_after_us) = match limit.algorithm() {
            Algorithm::Concurrency => self.peek_slots(now, found, limit),
            _ => self.peek_budget(now, identity, found),
        };
        (reset_after_us > 0).then_some(Stock { limit, remaining, reset_after_us })
    }

    fn peek_budget(&mut self, now: Timestamp, identity: Identity, found: Found) -> (u64, u128) {
        let standing = self.stand::<AnyCounter>(now, identity, found.entry.limit);
        let peeked = (standing.counter.remaining(), standing.counter.wait_until_whole());
        self.conclude(standing, Effect::Nothing);
        peeked
    }

    fn peek_slots(&mut self, now: Timestamp, found: Found, limit: Limit) -> (u64, u128) {
        let holders = Holders::load(found.entry.words, now, &mut self.side);
        let until_us = holders.until_us().unwrap_or(now.as_micros());
        let peeked = (limit.limit().saturating_sub(holders.in_use()), u128::from(until_us - now.as_micros()));
        self.keep_holders(found, found.entry.limit, holders);
        peeked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ask, Bounds, Period};

    const KEY: Identity = Identity { placement: 1, identity: 2 };

    fn at(us: u64) -> Timestamp {
        Timestamp::from_micros(us)
    }

    fn limit(algorithm: Algorithm) -> Limit {
        Limit::new(algorithm, 10, Period::Micros(1_000), None).unwrap()
    }

    #[test]
    fn a_stock_is_what_was_not_charged_yet_under_the_numbers_of_the_charge() {
        for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Concurrency) {
            let mut engine = Engine::new(Bounds::default());
            let id = engine.intern("", limit(algorithm)).unwrap();
            assert_eq!(engine.peek(at(5_000), KEY), None);
            engine.check(at(5_000), KEY, id, Ask::new(4)).unwrap();
            let stock = engine.peek(at(5_000), KEY).unwrap();
            assert_eq!((stock.limit, stock.remaining), (limit(algorithm), 6));
            assert_eq!(engine.peek(at(5_000), KEY), Some(stock), "looking changes nothing");
            assert_eq!(engine.check(at(5_000), KEY, id, Ask::PEEK).unwrap().reset_after_us, stock.reset_after_us);
            assert_eq!(engine.peek(at(9_000), KEY), None, "{algorithm:?} is whole again");
        }
    }

    #[test]
    fn a_stock_of_slots_is_those_that_nobody_holds() {
        let mut engine = Engine::new(Bounds::default());
        let id = engine.intern("", limit(Algorithm::Concurrency)).unwrap();
        engine.acquire(at(5), KEY, 1, id, 3, 100).unwrap();
        engine.acquire(at(5), KEY, 2, id, 1, 200).unwrap();
        let stock = |engine: &mut Engine, us| {
            engine.peek(at(us), KEY).map(|Stock { remaining, reset_after_us, .. }| (remaining, reset_after_us))
        };
        assert_eq!(stock(&mut engine, 5), Some((6, 200)));
        assert_eq!(stock(&mut engine, 105), Some((9, 100)));
        assert_eq!(stock(&mut engine, 205), None);
        assert_eq!(engine.keys(), 0);
    }
}
