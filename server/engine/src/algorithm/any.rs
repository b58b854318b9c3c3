//! A budget of whichever algorithm: for everything but the hot path, which knows its algorithm as a type.

use super::fixed_window::FixedWindow;
use super::leaky_bucket::LeakyBucket;
use super::sliding_counter::SlidingCounter;
use super::sliding_log::SlidingLog;
use super::token_bucket::TokenBucket;
use super::{Budget, Counter, Words};
use crate::export::state::{Malformed, Portable, State};
use crate::limit::{Algorithm, Limit};
use crate::side::Side;
use crate::time::Timestamp;

/// One of the algorithms that keep a budget: all but concurrency, whose units come back by themselves.
#[derive(Debug)]
pub(crate) enum AnyCounter {
    Token(TokenBucket),
    Leaky(LeakyBucket),
    Window(FixedWindow),
    Log(SlidingLog),
    Sliding(SlidingCounter),
}

/// Runs `$body` on whichever counter `$any` is.
macro_rules! each {
    ($any:expr, $counter:ident => $body:expr) => {
        match $any {
            AnyCounter::Token($counter) => $body,
            AnyCounter::Leaky($counter) => $body,
            AnyCounter::Window($counter) => $body,
            AnyCounter::Log($counter) => $body,
            AnyCounter::Sliding($counter) => $body,
        }
    };
}

/// Makes the counter that `$algorithm` names by calling `$make` of its type.
macro_rules! make {
    ($algorithm:expr, $make:ident($($argument:expr),*)) => {
        match $algorithm {
            Algorithm::TokenBucket => AnyCounter::Token(TokenBucket::$make($($argument),*)),
            Algorithm::LeakyBucket => AnyCounter::Leaky(LeakyBucket::$make($($argument),*)),
            Algorithm::FixedWindow => AnyCounter::Window(FixedWindow::$make($($argument),*)),
            Algorithm::SlidingLog => AnyCounter::Log(SlidingLog::$make($($argument),*)),
            Algorithm::SlidingCounter => AnyCounter::Sliding(SlidingCounter::$make($($argument),*)),
            Algorithm::Concurrency => unreachable!("slots are acquired and released, not checked"),
        }
    };
}

impl Budget for AnyCounter {
    fn ceiling(&self) -> u64 {
        each!(self, counter => counter.ceiling())
    }

    fn remaining(&self) -> u64 {
        each!(self, counter => counter.remaining())
    }

    fn fits(&self, units: u64) -> bool {
        each!(self, counter => counter.fits(units))
    }

    fn wait_until_fits(&self, units: u64) -> u128 {
        each!(self, counter => counter.wait_until_fits(units))
    }

    fn wait_until_whole(&self) -> u128 {
        each!(self, counter => counter.wait_until_whole())
    }

    fn charge(&mut self, units: u64) {
        each!(self, counter => counter.charge(units));
    }

    fn delay_us(&self) -> Option<u128> {
        each!(self, counter => counter.delay_us())
    }
}

impl Counter for AnyCounter {
    fn whole(limit: &Limit, now: Timestamp) -> AnyCounter {
        make!(limit.algorithm(), whole(limit, now))
    }

    fn load(words: Words, limit: &Limit, now: Timestamp, side: &mut Side) -> AnyCounter {
        make!(limit.algorithm(), load(words, limit, now, side))
    }

    fn leave(self, words: Words, side: &mut Side) {
        each!(self, counter => counter.leave(words, side));
    }

    fn store(self, before: Option<Words>, side: &mut Side) -> Words {
        each!(self, counter => counter.store(before, side))
    }

    fn convert(self, to: &Limit) -> AnyCounter {
        match self {
            AnyCounter::Token(counter) => AnyCounter::Token(counter.convert(to)),
            AnyCounter::Leaky(counter) => AnyCounter::Leaky(counter.convert(to)),
            AnyCounter::Window(counter) => AnyCounter::Window(counter.convert(to)),
            AnyCounter::Log(counter) => AnyCounter::Log(counter.convert(to)),
            AnyCounter::Sliding(counter) => AnyCounter::Sliding(counter.convert(to)),
        }
    }

    fn grows(&self) -> bool {
        each!(self, counter => counter.grows())
    }

    fn is_whole(&self) -> bool {
        each!(self, counter => counter.is_whole())
    }

    fn refund(&mut self, units: u64, charged_at: Option<Timestamp>) {
        each!(self, counter => counter.refund(units, charged_at));
    }

    fn charge_late(&mut self, units: u64, charged_at: Timestamp) {
        each!(self, counter => counter.charge_late(units, charged_at));
    }
}

impl Portable for AnyCounter {
    fn export(&self) -> State {
        each!(self, counter => counter.export())
    }

    fn import(state: &State, limit: &Limit, at: Timestamp) -> Result<AnyCounter, Malformed> {
        match limit.algorithm() {
            Algorithm::TokenBucket => TokenBucket::import(state, limit, at).map(AnyCounter::Token),
            Algorithm::LeakyBucket => LeakyBucket::import(state, limit, at).map(AnyCounter::Leaky),
            Algorithm::FixedWindow => FixedWindow::import(state, limit, at).map(AnyCounter::Window),
            Algorithm::SlidingLog => SlidingLog::import(state, limit, at).map(AnyCounter::Log),
            Algorithm::SlidingCounter => SlidingCounter::import(state, limit, at).map(AnyCounter::Sliding),
            Algorithm::Concurrency => unreachable!("slots are acquired and released, not checked"),
        }
    }

    fn heap_bytes(&self) -> usize {
        each!(self, counter => counter.heap_bytes())
    }
}
