//! `TR.CHECK`, `TR.TAKE`, `TR.REFUND`: a key, the numbers of its limit, and options.

use tallyring_engine::{Range, Timestamp};

use super::field::{Reader, UNITS};
use super::tail::{Opt, Tail};
use super::{Command, CommandError, Decide};
use crate::door::resp::asked::{Asked, Verb};
use crate::shard::command::Op;

/// An instant that a refund may name.
const INSTANTS_US: Range = Range { min: 0, max: Timestamp::MAX.as_micros() };

/// `TR.CHECK key algorithm limit period_us [BURST n] [COST n] [KEEP n] [FORCE]`.
pub fn check<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let allowed = [Opt::Burst, Opt::Cost, Opt::Keep, Opt::Force];
    decide(Verb::Check, args, &allowed, "BURST, COST, KEEP, FORCE", |reader, tail| {
        reader.ask(tail.value(Opt::Cost), UNITS, tail.value(Opt::Keep), tail.force).map(Op::Check)
    })
}

/// `TR.TAKE key algorithm limit period_us COST n [BURST n] [KEEP n]`.
pub fn take<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let allowed = [Opt::Burst, Opt::Cost, Opt::Keep];
    decide(Verb::Take, args, &allowed, "BURST, COST, KEEP", |reader, tail| {
        let cost = tail.required(reader.command, Opt::Cost)?;
        let ask = reader.ask(Some(cost), UNITS, tail.value(Opt::Keep), false)?;
        Ok(Op::Take { cost: ask.cost, keep: ask.keep })
    })
}

/// `TR.REFUND key algorithm limit period_us COST n [BURST n] [AT charged_at_us]`.
pub fn refund<'a>(args: &[&'a [u8]]) -> Result<Command<'a>, CommandError> {
    let allowed = [Opt::Burst, Opt::Cost, Opt::At];
    decide(Verb::Refund, args, &allowed, "BURST, COST, AT", |reader, tail| {
        let cost = reader.number("cost", tail.required(reader.command, Opt::Cost)?, UNITS)?;
        let at = tail.value(Opt::At).map(|at| reader.number("charged_at_us", at, INSTANTS_US)).transpose()?;
        Ok(Op::Refund { cost, charged_at: at.map(Timestamp::from_micros) })
    })
}

fn decide<'a>(
    verb: Verb,
    args: &[&'a [u8]],
    allowed: &[Opt],
    words: &'static str,
    op: impl FnOnce(Reader, &Tail<'a>) -> Result<Op, CommandError>,
) -> Result<Command<'a>, CommandError> {
    let reader = Reader { command: verb.name() };
    let tail = Tail::read(reader.command, &args[4..], allowed, words)?;
    let key = reader.key(args[0])?;
    let limit = reader.limit([args[1], args[2], args[3]], tail.value(Opt::Burst))?;
    let op = op(reader, &tail)?;
    Ok(Command::Decide(Decide { key, limit, op, asked: Asked { verb, limit: limit.ceiling() } }))
}
