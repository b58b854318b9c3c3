//! The token bucket, and GCRA, which is the same thing seen from its emptiness.
//!
//! A bucket is exact in one number: `X = now·L - level·W`, the arrival time scaled by the rate, where `L` tokens come
//! every `W` microseconds. `X` does not change while time passes, so waiting costs no write and loses no fraction.
//! Widths: `now·L` is below 2^93 and `level·W` below 2^86 in size, so `X` fits in the 96 bits of an entry.
//!
//! Source: the generic cell rate algorithm of ITU-T I.371, in virtual scheduling form, scaled to integers.

use super::{Budget, Counter, Words};
use crate::division::{div_ceil, div_floor, rescale_floor};
use crate::export::state::{Malformed, Portable, State};
use crate::limit::{Limit, UNITS_MAX};
use crate::side::Side;
use crate::time::Timestamp;

/// A bucket at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    now_us: u64,
    rate: u64,
    period_us: u64,
    ceiling: u64,
    /// The level when full.
    full: i128,
    /// Tokens times `period_us`; below zero in debt.
    level: i128,
}

impl TokenBucket {
    fn holding(limit: &Limit, now: Timestamp, level: i128) -> TokenBucket {
        let (period_us, ceiling) = (limit.period_us(), limit.ceiling());
        let full = scaled(ceiling, period_us);
        let level = level.min(full);
        TokenBucket { now_us: now.as_micros(), rate: limit.limit(), period_us, ceiling, full, level }
    }

    fn scaled(&self, units: u64) -> i128 {
        scaled(units, self.period_us)
    }

    fn elapsed(now_us: u64, rate: u64) -> i128 {
        (u128::from(now_us) * u128::from(rate)) as i128
    }

    /// Microseconds until the level is `target`, which it has not reached.
    fn wait_until(&self, target: i128) -> u128 {
        div_ceil((target - self.level).max(0) as u128, self.rate)
    }
}

/// Units as a level. Both factors are below 2^46, so that the product of two u64 is an i128.
fn scaled(units: u64, period_us: u64) -> i128 {
    (u128::from(units) * u128::from(period_us)) as i128
}

impl Budget for TokenBucket {
    fn ceiling(&self) -> u64 {
        self.ceiling
    }

    fn remaining(&self) -> u64 {
        div_floor(self.level.max(0) as u128, self.period_us) as u64
    }

    fn fits(&self, units: u64) -> bool {
        self.level >= self.scaled(units)
    }

    fn wait_until_fits(&self, units: u64) -> u128 {
        self.wait_until(self.scaled(units))
    }

    fn wait_until_whole(&self) -> u128 {
        self.wait_until(self.full)
    }

    fn charge(&mut self, units: u64) {
        self.level -= self.scaled(units);
    }
}

impl Counter for TokenBucket {
    fn whole(limit: &Limit, now: Timestamp) -> TokenBucket {
        TokenBucket::holding(limit, now, i128::MAX)
    }

    fn load(words: Words, limit: &Limit, now: Timestamp, _side: &mut Side) -> TokenBucket {
        let elapsed = TokenBucket::elapsed(now.as_micros(), limit.limit());
        TokenBucket::holding(limit, now, elapsed - words.signed())
    }

    fn store(self, _before: Option<Words>, _side: &mut Side) -> Words {
        Words::of_signed(TokenBucket::elapsed(self.now_us, self.rate) - self.level)
    }

    /// A comparison in place of the division that the wait takes: every call asks this of what it loads.
    fn is_whole(&self) -> bool {
        self.level >= self.full
    }

    /// The level survives, rounded down to what the new period can express, and cut to the new size.
    fn convert(self, to: &Limit) -> TokenBucket {
        let level = match to.period_us() {
            same if same == self.period_us => self.level,
            other => rescale_floor(self.level, self.period_us, other),
        };
        TokenBucket::holding(to, Timestamp::from_micros(self.now_us), level)
    }

    /// Tokens are alike: a bucket takes them back whenever they were charged.
    fn refund(&mut self, units: u64, _charged_at: Option<Timestamp>) {
        self.level = (self.level + self.scaled(units)).min(self.full);
    }

    fn charge_late(&mut self, units: u64, _charged_at: Timestamp) {
        self.level = (self.level - self.scaled(units)).max(-self.scaled(UNITS_MAX));
    }
}

impl Portable for TokenBucket {
    fn export(&self) -> State {
        State::Bucket { level: self.level }
    }

    fn import(state: &State, limit: &Limit, at: Timestamp) -> Result<TokenBucket, Malformed> {
        let &State::Bucket { level } = state else { return Err(Malformed::ALGORITHM) };
        let levels = -scaled(UNITS_MAX, limit.period_us())..=scaled(limit.ceiling(), limit.period_us());
        Malformed::unless(levels.contains(&level), "a bucket's level")?;
        Ok(TokenBucket::holding(limit, at, level))
    }
}
