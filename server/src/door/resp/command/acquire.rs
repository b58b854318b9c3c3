//! `TR.ACQUIRE` and `TR.RELEASE`: units that are held at the same time.

use tallyring_engine::{PERIOD_US_MAX, Range};

use super::field::{Reader, SOME_UNITS};
use super::tail::{Opt, Tail};
use super::{Command, CommandError};
use crate::door::resp::asked::Verb;

/// How long units may be held.
const TTLS_US: Range = Range { min: 1, max: PERIOD_US_MAX };

/// Hold units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquire<'a> {
    /// The raw key.
    pub key: &'a [u8],
    /// Who holds them.
    pub holder: &'a [u8],
    /// Units that may be held at once.
    pub limit: u64,
    /// How long they are held, in microseconds.
    pub ttl_us: u64,
    /// Units to hold.
    pub cost: u64,
}

/// Let go of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'a> {
    /// The raw key.
    pub key: &'a [u8],
    /// Who held them.
    pub holder: &'a [u8],
}

/// `TR.ACQUIRE key holder limit ttl_us [COST n]`.
pub fn acquire<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let reader = Reader { command: Verb::Acquire.name() };
    let tail = Tail::read(reader.command, &args[4..], &[Opt::Cost], "COST")?;
    let (key, holder) = (reader.key(args[0])?, reader.name("holder", args[1])?);
    let limit = reader.number("limit", args[2], SOME_UNITS)?;
    let cost = tail.value(Opt::Cost).map_or(Ok(1), |cost| reader.number("cost", cost, SOME_UNITS))?;
    let ttl_us = reader.number("ttl_us", args[3], TTLS_US)?;
    Ok(Command::Acquire(Acquire { key, holder, limit, ttl_us, cost }))
}

/// `TR.RELEASE key holder`.
pub fn release<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let reader = Reader { command: Verb::Release.name() };
    Ok(Command::Release(Release { key: reader.key(args[0])?, holder: reader.name("holder", args[1])? }))
}
