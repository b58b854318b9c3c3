//! `TR.RESERVE` and `TR.SETTLE`: a charge that can be corrected once.

use tallyring_engine::{Ask, Limit, RESERVATION_TTL_US_MAX, Range};

use super::field::{Reader, SOME_UNITS, UNITS};
use super::tail::{Opt, Tail};
use super::{Command, CommandError};
use crate::door::resp::asked::{Asked, Verb};

/// How long a reservation may wait to be corrected.
const TTLS_US: Range = Range { min: 1, max: RESERVATION_TTL_US_MAX };

/// A charge that can be corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reserve<'a> {
    /// The raw key.
    pub key: &'a [u8],
    /// The reservation's name.
    pub id: &'a [u8],
    /// How long it can be corrected, in microseconds.
    pub ttl_us: u64,
    /// The numbers.
    pub limit: Limit,
    /// What is charged.
    pub ask: Ask,
    /// How the answer is worded.
    pub asked: Asked,
}

/// A correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle<'a> {
    /// The raw key.
    pub key: &'a [u8],
    /// The reservation's name.
    pub id: &'a [u8],
    /// Units that were used.
    pub actual: u64,
}

/// `TR.RESERVE key id ttl_us algorithm limit period_us [BURST n] [COST n] [KEEP n] [FORCE]`.
pub fn reserve<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let reader = Reader { command: Verb::Reserve.name() };
    let allowed = [Opt::Burst, Opt::Cost, Opt::Keep, Opt::Force];
    let tail = Tail::read(reader.command, &args[6..], &allowed, "BURST, COST, KEEP, FORCE")?;
    let (key, id) = (reader.key(args[0])?, reader.name("id", args[1])?);
    let limit = reader.limit([args[3], args[4], args[5]], tail.value(Opt::Burst))?;
    let ask = reader.ask(tail.value(Opt::Cost), SOME_UNITS, tail.value(Opt::Keep), tail.force)?;
    let ttl_us = reader.number("ttl_us", args[2], TTLS_US)?;
    let asked = Asked { verb: Verb::Reserve, limit: limit.ceiling() };
    Ok(Command::Reserve(Reserve { key, id, ttl_us, limit, ask, asked }))
}

/// `TR.SETTLE key id actual`.
pub fn settle<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let reader = Reader { command: Verb::Settle.name() };
    let (key, id) = (reader.key(args[0])?, reader.name("id", args[1])?);
    Ok(Command::Settle(Settle { key, id, actual: reader.number("actual", args[2], UNITS)? }))
}
