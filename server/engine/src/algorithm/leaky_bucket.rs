//! The leaky bucket: a queue that drains, and tells each request how long to wait its turn.
//!
//! Its arithmetic is the token bucket's with `level = ceiling - queued`: what is missing from whole is what is queued, so
//! the time until whole is the time for the queue to drain.
//!
//! Source: the leaky bucket as a queue, ITU-T I.371.

use super::token_bucket::TokenBucket;
use super::{Budget, Counter, Words};
use crate::export::state::{Malformed, Portable, State};
use crate::limit::Limit;
use crate::side::Side;
use crate::time::Timestamp;

/// A queue at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeakyBucket(TokenBucket);

impl Budget for LeakyBucket {
    fn ceiling(&self) -> u64 {
        self.0.ceiling()
    }

    fn remaining(&self) -> u64 {
        self.0.remaining()
    }

    fn fits(&self, units: u64) -> bool {
        self.0.fits(units)
    }

    fn wait_until_fits(&self, units: u64) -> u128 {
        self.0.wait_until_fits(units)
    }

    fn wait_until_whole(&self) -> u128 {
        self.0.wait_until_whole()
    }

    fn charge(&mut self, units: u64) {
        self.0.charge(units);
    }

    fn delay_us(&self) -> Option<u128> {
        Some(self.0.wait_until_whole())
    }
}

impl Counter for LeakyBucket {
    fn whole(limit: &Limit, now: Timestamp) -> LeakyBucket {
        LeakyBucket(TokenBucket::whole(limit, now))
    }

    fn load(words: Words, limit: &Limit, now: Timestamp, side: &mut Side) -> LeakyBucket {
        LeakyBucket(TokenBucket::load(words, limit, now, side))
    }

    fn store(self, before: Option<Words>, side: &mut Side) -> Words {
        self.0.store(before, side)
    }

    fn convert(self, to: &Limit) -> LeakyBucket {
        LeakyBucket(self.0.convert(to))
    }

    fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    fn refund(&mut self, units: u64, charged_at: Option<Timestamp>) {
        self.0.refund(units, charged_at);
    }

    fn charge_late(&mut self, units: u64, charged_at: Timestamp) {
        self.0.charge_late(units, charged_at);
    }
}

impl Portable for LeakyBucket {
    fn export(&self) -> State {
        self.0.export()
    }

    fn import(state: &State, limit: &Limit, at: Timestamp) -> Result<LeakyBucket, Malformed> {
        TokenBucket::import(state, limit, at).map(LeakyBucket)
    }
}
