//! A token bucket as redis-cell and throttlecrab ask for one: a burst, and so many units in so many seconds.

use tallyring_engine::{Algorithm, Ask, Limit, PERIOD_US_MAX, Period, Range, UNITS_MAX};

use super::field::{Reader, SOME_UNITS, UNITS};
use super::{Command, CommandError, Decide};
use crate::door::resp::asked::{Asked, Verb};
use crate::shard::command::Op;

const SECOND_US: u64 = 1_000_000;

/// What a period may be, in seconds.
const PERIOD_S: Range = Range { min: 1, max: PERIOD_US_MAX / SECOND_US };

/// `CL.THROTTLE key max_burst count period [quantity]`: the bucket holds `max_burst + 1`.
#[inline]
pub fn cell<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    throttle(Verb::ClThrottle, args, Range { min: 0, max: UNITS_MAX - 1 }, 1)
}

/// `THROTTLE key max_burst count period [quantity]`: the bucket holds `max_burst`.
pub fn crab<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    throttle(Verb::Throttle, args, SOME_UNITS, 0)
}

#[inline]
fn throttle<'a>(verb: Verb, args: &[&'a [u8]], bursts: Range, besides: u64) -> Result<Command<'a>, CommandError> {
    let reader = Reader { command: verb.name() };
    let key = reader.key(args[0])?;
    let burst = reader.number("max_burst", args[1], bursts)? + besides;
    let count = reader.number("count", args[2], SOME_UNITS)?;
    let period_s = reader.number("period", args[3], PERIOD_S)?;
    let quantity = args.get(4).map_or(Ok(1), |quantity| reader.number("quantity", quantity, UNITS))?;
    let limit = Limit::new(Algorithm::TokenBucket, count, Period::Micros(period_s * SECOND_US), Some(burst))
        .map_err(|invalid| CommandError::Refused { command: reader.command, invalid })?;
    let op = Op::Check(Ask::new(quantity));
    Ok(Command::Decide(Decide { key, limit, op, asked: Asked { verb, limit: burst } }))
}
