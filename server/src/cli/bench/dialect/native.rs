//! The native protocol.

use tallyring_engine::Limit;
use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{Charge, Define, Hello, Key, PROTOCOL_VERSION, PeriodCode, Reply, Request, frame};

use super::{Answer, Dialect, Misunderstood, Read};
use crate::cli::bench::accounts::Accounts;
use crate::cli::bench::numbers;
use crate::cli::bench::template::Template;
use crate::limits::code_of;

/// The handle that the one limit of a connection gets.
const HANDLE: u16 = 1;

/// Every request has this id: a connection counts replies, it does not match them. (0 would be a push.)
const REQUEST_ID: u32 = 1;

/// What the hello says of patience, in microseconds. The generator measures waits, it does not end them.
const DEADLINE_US: u32 = 5_000;

/// Accounts under these numbers, asked by handle.
pub(in crate::cli::bench) fn dialect(token: &str, accounts: &Accounts, limit: &Limit) -> Dialect {
    Dialect {
        greeting: greeting(token, limit),
        ask: template(accounts, 1),
        drain: template(accounts, limit.ceiling()),
        read,
    }
}

fn greeting(token: &str, limit: &Limit) -> Vec<u8> {
    let mut out = Vec::new();
    Hello {
        version: PROTOCOL_VERSION,
        shard: 0,
        deadline_max_us: DEADLINE_US,
        instance: u128::from(std::process::id()),
        name: "tallyring-bench",
        token,
    }
    .encode(&mut out);
    let define = Define {
        handle: HANDLE,
        algorithm: code_of(limit.algorithm()),
        limit: limit.limit(),
        period: PeriodCode::Micros(numbers::period_us(limit)),
        burst: limit.burst().unwrap_or(0),
        shadow: false,
        sync: false,
        rule_version: 0,
        keys_max: 0,
        rule: "",
    };
    Request::Define(define).encode(REQUEST_ID, &mut out);
    out
}

fn template(accounts: &Accounts, cost: u64) -> Template {
    Template::new(accounts, |key, out| {
        let key = Key::raw(key.as_bytes()).expect("a benchmark's keys are short and not empty");
        let charge = Charge { handle: HANDLE, cost, keep: 0, force: false, key: key.as_ref() };
        Request::Check(charge).encode(REQUEST_ID, out);
    })
}

fn read(bytes: &[u8]) -> Read<Answer> {
    let split = frame::split(bytes, REPLY_BYTES_MAX).map_err(|error| Misunderstood::new(error.to_string()))?;
    let Some((frame, taken)) = split else { return Ok(None) };
    let reply = Reply::decode(&frame).map_err(|error| Misunderstood::new(error.to_string()))?;
    Ok(Some((answer(&reply)?, taken)))
}

fn answer(reply: &Reply<'_>) -> Result<Answer, Misunderstood> {
    match reply {
        Reply::Decision(decision) if decision.allowed => Ok(Answer::Allowed),
        Reply::Decision(_) => Ok(Answer::Denied),
        Reply::Overloaded | Reply::Full | Reply::Unavailable | Reply::Moving { .. } => Ok(Answer::Undecided),
        Reply::Defined => Ok(Answer::Ready),
        Reply::Welcome(_) | Reply::Topology(_) | Reply::RulesVersion(_) => Ok(Answer::Notice),
        Reply::WrongOwner { .. } => Err(Misunderstood::new("one node of several: use client:// to follow the ring")),
        Reply::Invalid { field, reason } => Err(Misunderstood::new(format!("{field}: {reason}"))),
        Reply::Goodbye { reason, .. } => Err(Misunderstood::new(reason.to_string())),
        _ => Err(Misunderstood::new("an answer to no question")),
    }
}

#[cfg(test)]
mod tests {
    use tallyring_protocol::reply::Decision;
    use tallyring_protocol::{GoodbyeCode, Malformed};

    use super::*;
    use tallyring_engine::Algorithm;

    use crate::cli::bench::mix::Mix;

    fn decision(allowed: bool) -> Reply<'static> {
        Reply::Decision(Decision {
            allowed,
            remaining: 1,
            retry_after_us: 0,
            reset_after_us: 0,
            at_us: 0,
            charged: None,
            delay_us: None,
        })
    }

    fn check(reply: &Reply<'_>, expect: Result<Answer, &'static str>) {
        let mut bytes = Vec::new();
        reply.encode(REQUEST_ID, &mut bytes);
        assert_eq!(read(&bytes[..bytes.len() - 1]), Ok(None), "{reply:?} without its last byte");
        let expect = expect.map(|answer| Some((answer, bytes.len()))).map_err(Misunderstood::new);
        assert_eq!(read(&bytes), expect, "{reply:?}");
    }

    #[test]
    fn replies_are_told_apart() {
        check(&decision(true), Ok(Answer::Allowed));
        check(&decision(false), Ok(Answer::Denied));
        check(&Reply::Overloaded, Ok(Answer::Undecided));
        check(&Reply::Full, Ok(Answer::Undecided));
        check(&Reply::Defined, Ok(Answer::Ready));
        check(&Reply::Topology(b"{}".into()), Ok(Answer::Notice));
        check(
            &Reply::RulesVersion(tallyring_protocol::rules::RulesVersion { lineage: 1, version: 2 }),
            Ok(Answer::Notice),
        );
        check(&Reply::invalid(Malformed::new("limit", "too high")), Err("limit: too high"));
        check(&Reply::Goodbye { code: GoodbyeCode::Unauthorized, reason: "no".into() }, Err("no"));
        check(&Reply::Pong, Err("an answer to no question"));
    }

    #[test]
    fn a_question_is_the_check_of_its_account() {
        let accounts = Accounts { prefix: "rl".into(), count: 1_000 };
        let (limit, mut bytes) = (numbers::load(Algorithm::SlidingLog, Mix::Uniform), Vec::new());
        dialect("", &accounts, &limit).ask.write(42, &mut bytes);
        let (frame, taken) = frame::split(&bytes, 1_024).unwrap().unwrap();
        let Ok(Request::Check(charge)) = Request::decode(&frame) else { panic!("not a check") };
        assert_eq!((taken, charge.handle, charge.cost), (bytes.len(), HANDLE, 1));
        assert_eq!(charge.key.tag(), b"acct_000042");
        assert_eq!(charge.key.rest(), b"rl:{acct_000042}:route");
    }
}
