//! Events: one operation on explicit numbers as a JSON object, every field within its bounds.
//!
//! `tallyring trace` reads one a line and `POST /v1/limit` one a request. Fields are read in the order in which the first
//! bad one is to be named, so each function below reads in that order. Fields that an operation has no use for are not
//! looked at; those that no event has are for `stranger` to find, and for whoever reads events to refuse or to tell of.

pub mod field;
pub mod stranger;

use serde_json::Value;
use tallyring_engine::{
    Algorithm, Ask, Calendar, Limit, PARTS_MAX, PERIOD_US_MAX, Period, RESERVATION_TTL_US_MAX, Timestamp, UNITS_MAX,
};

use self::field::{BadField, Fields};

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;
/// The longest id of a reservation and name of a holder, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// What an event asks for, before its fields are read.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Decide, and charge if allowed.
    Check,
    /// Several checks as one.
    CheckAll,
    /// Hand over what there is.
    Take,
    /// Give units back.
    Refund,
    /// A charge that can be corrected once.
    Reserve,
    /// Its correction.
    Settle,
    /// Hold slots.
    Acquire,
    /// Let go of them.
    Release,
}

/// The fields that move time even if others are bad.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The operation.
    pub op: Op,
    /// The instant.
    pub t: Timestamp,
}

/// Whose budget, under which limit.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The key, as it was written.
    pub key: &'a str,
    /// Its numbers.
    pub limit: Limit,
}

/// A check, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Whose budget.
    pub subject: Subject<'a>,
    /// What is asked of it.
    pub ask: Ask,
}

/// What an event asks for.
#[derive(Debug)]
pub enum Operation<'a> {
    /// Decide, and charge if allowed.
    Check(Check<'a>),
    /// Several checks as one, 1 ..= [`PARTS_MAX`].
    CheckAll(Vec<Check<'a>>),
    /// Hand over what there is, up to `cost`.
    Take {
        /// Whose budget.
        subject: Subject<'a>,
        /// Units wanted.
        cost: u64,
        /// Units that must remain.
        keep: u64,
    },
    /// Give units back.
    Refund {
        /// Whose budget.
        subject: Subject<'a>,
        /// Units to give back.
        cost: u64,
        /// When they were charged, if known.
        charged_at: Option<Timestamp>,
    },
    /// A charge that can be corrected once.
    Reserve {
        /// The charge.
        check: Check<'a>,
        /// The reservation's id.
        id: &'a str,
        /// How long it can be corrected, in microseconds.
        ttl_us: u64,
    },
    /// The correction of a reservation.
    Settle {
        /// Whose reservation.
        key: &'a str,
        /// Its id.
        id: &'a str,
        /// Units that were used.
        actual: u64,
    },
    /// Hold slots.
    Acquire {
        /// Whose slots, and how many there are.
        subject: Subject<'a>,
        /// Who holds them.
        holder: &'a str,
        /// How many.
        cost: u64,
        /// How long at most, in microseconds.
        ttl_us: u64,
    },
    /// Let go of slots.
    Release {
        /// Whose slots.
        key: &'a str,
        /// Who held them.
        holder: &'a str,
    },
}

/// The operation and the instant, which are read before anything else.
///
/// # Errors
/// The first of them that is bad.
pub fn head(fields: &Fields) -> Result<Head, BadField> {
    let op = op(fields)?;
    let t_us = field::integer(fields, "t_us", 0..=Timestamp::MAX.as_micros())?;
    let t_us = t_us.ok_or(BadField::named("t_us"))?;
    Ok(Head { op, t: Timestamp::from_micros(t_us) })
}

/// The operation; a check if the event does not say.
///
/// # Errors
/// There is no such operation.
pub fn op(fields: &Fields) -> Result<Op, BadField> {
    Ok(field::word(fields, "op", op_named)?.unwrap_or(Op::Check))
}

fn op_named(name: &str) -> Option<Op> {
    Some(match name {
        "check" => Op::Check,
        "check_all" => Op::CheckAll,
        "take" => Op::Take,
        "refund" => Op::Refund,
        "reserve" => Op::Reserve,
        "settle" => Op::Settle,
        "acquire" => Op::Acquire,
        "release" => Op::Release,
        _ => return None,
    })
}

/// What the event asks for; fields that it has no use for are not looked at.
///
/// # Errors
/// The first field that is bad.
pub fn operation(op: Op, fields: &Fields) -> Result<Operation<'_>, BadField> {
    match op {
        Op::Check => check(fields).map(Operation::Check),
        Op::CheckAll => check_all(fields).map(Operation::CheckAll),
        Op::Take => take(fields),
        Op::Refund => refund(fields),
        Op::Reserve => reserve(fields),
        Op::Settle => settle(fields),
        Op::Acquire => acquire(fields),
        Op::Release => Ok(Operation::Release { key: key(fields)?, holder: name(fields, "holder")? }),
    }
}

fn check(fields: &Fields) -> Result<Check<'_>, BadField> {
    Ok(Check { subject: subject(fields)?, ask: ask(fields, 0)? })
}

fn check_all(fields: &Fields) -> Result<Vec<Check<'_>>, BadField> {
    let parts = fields.get("checks").and_then(Value::as_array);
    let parts = parts.filter(|parts| (1..=PARTS_MAX).contains(&parts.len())).ok_or(BadField::named("checks"))?;
    parts.iter().enumerate().map(|(no, part)| check_part(no, part)).collect()
}

fn check_part(no: usize, part: &Value) -> Result<Check<'_>, BadField> {
    let fields = part.as_object().ok_or(BadField::part(no))?;
    check(fields).map_err(|bad| bad.of_part(no))
}

fn take(fields: &Fields) -> Result<Operation<'_>, BadField> {
    Ok(Operation::Take { subject: subject(fields)?, cost: cost(fields, 0)?, keep: keep(fields)? })
}

fn refund(fields: &Fields) -> Result<Operation<'_>, BadField> {
    let (subject, cost) = (subject(fields)?, cost(fields, 0)?);
    let charged_at = field::integer(fields, "charged_at_us", 0..=Timestamp::MAX.as_micros())?;
    Ok(Operation::Refund { subject, cost, charged_at: charged_at.map(Timestamp::from_micros) })
}

fn reserve(fields: &Fields) -> Result<Operation<'_>, BadField> {
    let (key, id) = (key(fields)?, name(fields, "id")?);
    let check = Check { subject: Subject { key, limit: limit(fields)? }, ask: ask(fields, 1)? };
    Ok(Operation::Reserve { check, id, ttl_us: ttl_us(fields, RESERVATION_TTL_US_MAX)? })
}

fn settle(fields: &Fields) -> Result<Operation<'_>, BadField> {
    let (key, id) = (key(fields)?, name(fields, "id")?);
    let actual = field::integer(fields, "actual", 0..=UNITS_MAX)?.ok_or(BadField::named("actual"))?;
    Ok(Operation::Settle { key, id, actual })
}

fn acquire(fields: &Fields) -> Result<Operation<'_>, BadField> {
    let (key, holder) = (key(fields)?, name(fields, "holder")?);
    let units = field::integer(fields, "limit", 1..=UNITS_MAX)?.ok_or(BadField::named("limit"))?;
    let (cost, ttl_us) = (cost(fields, 1)?, ttl_us(fields, PERIOD_US_MAX)?);
    let limit = Limit::new(Algorithm::Concurrency, units, Period::Micros(ttl_us), None)?;
    Ok(Operation::Acquire { subject: Subject { key, limit }, holder, cost, ttl_us })
}

fn subject(fields: &Fields) -> Result<Subject<'_>, BadField> {
    Ok(Subject { key: key(fields)?, limit: limit(fields)? })
}

fn key(fields: &Fields) -> Result<&str, BadField> {
    field::text(fields, "key", KEY_BYTES_MAX)
}

fn name<'a>(fields: &'a Fields, field: &'static str) -> Result<&'a str, BadField> {
    field::text(fields, field, ID_BYTES_MAX)
}

fn limit(fields: &Fields) -> Result<Limit, BadField> {
    let algorithm = field::word(fields, "algorithm", budget_algorithm)?.ok_or(BadField::named("algorithm"))?;
    let units = field::integer(fields, "limit", 1..=algorithm.limit_max())?.ok_or(BadField::named("limit"))?;
    let limit = |burst| Limit::new(algorithm, units, period(fields)?, burst).map_err(BadField::from);
    // Without the burst first: a calendar that has no place is named before a burst that cannot be read.
    limit(None)?;
    limit(field::integer(fields, "burst", 1..=UNITS_MAX)?)
}

/// An algorithm that keeps a budget: slots have operations of their own.
fn budget_algorithm(name: &str) -> Option<Algorithm> {
    Algorithm::from_name(name).filter(|algorithm| *algorithm != Algorithm::Concurrency)
}

fn period(fields: &Fields) -> Result<Period, BadField> {
    let calendar = field::word(fields, "calendar", Calendar::from_name)?;
    match calendar {
        Some(_) if fields.contains_key("period_us") => Err(BadField::named("calendar")),
        Some(calendar) => Ok(Period::Calendar(calendar)),
        None => {
            let period_us = field::integer(fields, "period_us", 1..=PERIOD_US_MAX)?;
            period_us.map(Period::Micros).ok_or(BadField::named("period_us"))
        }
    }
}

fn ask(fields: &Fields, cost_min: u64) -> Result<Ask, BadField> {
    Ok(Ask { cost: cost(fields, cost_min)?, keep: keep(fields)?, force: field::flag(fields, "force")? })
}

fn cost(fields: &Fields, cost_min: u64) -> Result<u64, BadField> {
    Ok(field::integer(fields, "cost", cost_min..=UNITS_MAX)?.unwrap_or(1))
}

fn keep(fields: &Fields) -> Result<u64, BadField> {
    Ok(field::integer(fields, "keep", 0..=UNITS_MAX)?.unwrap_or(0))
}

fn ttl_us(fields: &Fields, ttl_us_max: u64) -> Result<u64, BadField> {
    field::integer(fields, "ttl_us", 1..=ttl_us_max)?.ok_or(BadField::named("ttl_us"))
}
