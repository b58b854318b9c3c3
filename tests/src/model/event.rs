//! Events: what can be asked, which fields that takes, and within which bounds.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::calendar::Calendar;
use super::fields::{Fields, Invalid};
use super::limit::{Algorithm, Limit, Window};
use super::{Micros, StateKey, Units};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;
const UNITS_MAX: Units = 1_000_000_000_000;
const LOG_LIMIT_MAX: Units = 100_000;
const SPAN_US_MAX: Micros = 400 * DAY_US;
const INSTANT_US_MAX: Micros = (1 << 53) - 1;
const KEY_BYTES_MAX: usize = 512;
const NAME_BYTES_MAX: usize = 128;
const CHECKS_MAX: usize = 16;

const INSTANTS: RangeInclusive<Micros> = 0..=INSTANT_US_MAX;
const SPANS: RangeInclusive<Micros> = 1..=SPAN_US_MAX;
const RESERVATION_SPANS: RangeInclusive<Micros> = 1..=DAY_US;
const UNITS: RangeInclusive<Units> = 0..=UNITS_MAX;
const SOME_UNITS: RangeInclusive<Units> = 1..=UNITS_MAX;
const LOG_LIMITS: RangeInclusive<Units> = 1..=LOG_LIMIT_MAX;

/// What an event asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Check,
    CheckAll,
    Take,
    Refund,
    Reserve,
    Settle,
    Acquire,
    Release,
}

/// The operation an event names, a check if it names none.
pub(super) fn op(fields: &Fields) -> Result<Op, Invalid> {
    if !fields.has("op") {
        return Ok(Op::Check);
    }
    match fields.text("op", NAME_BYTES_MAX)?.as_str() {
        "check" => Ok(Op::Check),
        "check_all" => Ok(Op::CheckAll),
        "take" => Ok(Op::Take),
        "refund" => Ok(Op::Refund),
        "reserve" => Ok(Op::Reserve),
        "settle" => Ok(Op::Settle),
        "acquire" => Ok(Op::Acquire),
        "release" => Ok(Op::Release),
        _ => Err(Invalid::new("op")),
    }
}

/// The event's instant.
pub(super) fn t_us(fields: &Fields) -> Result<Micros, Invalid> {
    fields.integer("t_us", INSTANTS)
}

/// A call that may charge a counted limit.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) key: String,
    pub(super) limit: Limit,
    pub(super) cost: Units,
    pub(super) keep: Units,
    pub(super) force: bool,
}

impl Call {
    /// Whether it only looks.
    pub(super) fn is_peek(&self) -> bool {
        self.cost == 0
    }

    /// A call that only looks at what this one charges.
    pub(super) fn as_peek(&self) -> Self {
        Self { cost: 0, keep: 0, force: false, ..self.clone() }
    }

    pub(super) fn state_key(&self) -> StateKey {
        (self.key.clone(), self.limit.algorithm)
    }
}

/// An event, valid in itself.
pub(super) enum Event {
    Check(Call),
    CheckAll(Vec<Call>),
    Take(Call),
    Refund { call: Call, charged_at_us: Option<Micros> },
    Reserve { call: Call, id: String, ttl_us: Micros },
    Settle { key: String, id: String, actual: Units },
    Acquire { key: String, holder: String, cost: Units, limit: Units, ttl_us: Micros },
    Release { key: String, holder: String },
}

impl Event {
    /// Reads the fields that `op` takes, in the order in which bad ones are named.
    pub(super) fn parse(op: Op, fields: &Fields) -> Result<Self, Invalid> {
        match op {
            Op::Check => Ok(Self::Check(check(fields)?)),
            Op::CheckAll => Ok(Self::CheckAll(checks(fields)?)),
            Op::Take => take(fields),
            Op::Refund => refund(fields),
            Op::Reserve => reserve(fields),
            Op::Settle => settle(fields),
            Op::Acquire => acquire(fields),
            Op::Release => Ok(Self::Release { key: key(fields)?, holder: name(fields, "holder")? }),
        }
    }
}

fn check(fields: &Fields) -> Result<Call, Invalid> {
    let key = key(fields)?;
    let limit = limit(fields)?;
    let cost = cost(fields, UNITS)?;
    Ok(Call { key, limit, cost, keep: keep(fields)?, force: fields.flag("force")? })
}

fn take(fields: &Fields) -> Result<Event, Invalid> {
    let key = key(fields)?;
    let limit = limit(fields)?;
    let cost = cost(fields, UNITS)?;
    Ok(Event::Take(Call { key, limit, cost, keep: keep(fields)?, force: false }))
}

fn refund(fields: &Fields) -> Result<Event, Invalid> {
    let key = key(fields)?;
    let limit = limit(fields)?;
    let cost = cost(fields, UNITS)?;
    let charged_at_us = fields.integer_if_any("charged_at_us", INSTANTS)?;
    Ok(Event::Refund { call: Call { key, limit, cost, keep: 0, force: false }, charged_at_us })
}

fn reserve(fields: &Fields) -> Result<Event, Invalid> {
    let key = key(fields)?;
    let id = name(fields, "id")?;
    let limit = limit(fields)?;
    let cost = cost(fields, SOME_UNITS)?;
    let call = Call { key, limit, cost, keep: keep(fields)?, force: fields.flag("force")? };
    Ok(Event::Reserve { call, id, ttl_us: fields.integer("ttl_us", RESERVATION_SPANS)? })
}

fn settle(fields: &Fields) -> Result<Event, Invalid> {
    let key = key(fields)?;
    let id = name(fields, "id")?;
    Ok(Event::Settle { key, id, actual: fields.integer("actual", UNITS)? })
}

fn acquire(fields: &Fields) -> Result<Event, Invalid> {
    let key = key(fields)?;
    let holder = name(fields, "holder")?;
    let limit = fields.integer("limit", SOME_UNITS)?;
    let cost = cost(fields, SOME_UNITS)?;
    Ok(Event::Acquire { key, holder, cost, limit, ttl_us: fields.integer("ttl_us", SPANS)? })
}

/// The parts of a `check_all`: each must be valid by itself before they are judged together.
fn checks(fields: &Fields) -> Result<Vec<Call>, Invalid> {
    let parts = fields.list("checks")?;
    if !(1..=CHECKS_MAX).contains(&parts.len()) {
        return Err(Invalid::new("checks"));
    }
    let calls = parts.into_iter().enumerate().map(|(index, part)| part_of_all(index, part));
    let calls = calls.collect::<Result<Vec<Call>, Invalid>>()?;
    match second_limit(&calls) {
        Some(index) => Err(Invalid { field: format!("checks[{index}].limit") }),
        None => Ok(calls),
    }
}

fn part_of_all(index: usize, part: Value) -> Result<Call, Invalid> {
    let fields = Fields::of(part).ok_or(Invalid { field: format!("checks[{index}]") })?;
    check(&fields).map_err(|invalid| Invalid { field: format!("checks[{index}].{}", invalid.field) })
}

/// The first part that names the state of an earlier one under other numbers.
fn second_limit(calls: &[Call]) -> Option<usize> {
    (0..calls.len()).find(|&later| {
        calls[..later]
            .iter()
            .any(|earlier| earlier.state_key() == calls[later].state_key() && earlier.limit != calls[later].limit)
    })
}

fn key(fields: &Fields) -> Result<String, Invalid> {
    fields.text("key", KEY_BYTES_MAX)
}

fn name(fields: &Fields, field: &str) -> Result<String, Invalid> {
    fields.text(field, NAME_BYTES_MAX)
}

fn cost(fields: &Fields, range: RangeInclusive<Units>) -> Result<Units, Invalid> {
    Ok(fields.integer_if_any("cost", range)?.unwrap_or(1))
}

fn keep(fields: &Fields) -> Result<Units, Invalid> {
    Ok(fields.integer_if_any("keep", UNITS)?.unwrap_or(0))
}

fn limit(fields: &Fields) -> Result<Limit, Invalid> {
    let algorithm = fields.text("algorithm", NAME_BYTES_MAX)?;
    let algorithm = Algorithm::named(&algorithm).ok_or(Invalid::new("algorithm"))?;
    let limit = fields.integer("limit", if algorithm == Algorithm::SlidingLog { LOG_LIMITS } else { SOME_UNITS })?;
    let window = window(fields, algorithm)?;
    Ok(Limit { algorithm, limit, window, burst: burst(fields, algorithm, limit)? })
}

fn window(fields: &Fields, algorithm: Algorithm) -> Result<Window, Invalid> {
    if !fields.has("calendar") {
        return Ok(Window::Period { period_us: fields.integer("period_us", SPANS)? });
    }
    let name = fields.text("calendar", NAME_BYTES_MAX)?;
    let calendar = Calendar::named(&name).ok_or(Invalid::new("calendar"))?;
    if algorithm != Algorithm::FixedWindow || fields.has("period_us") {
        return Err(Invalid::new("calendar"));
    }
    Ok(Window::Calendar(calendar))
}

/// `None` on an algorithm without one, where a burst is bad.
fn burst(fields: &Fields, algorithm: Algorithm, limit: Units) -> Result<Option<Units>, Invalid> {
    if algorithm.has_burst() {
        return Ok(Some(fields.integer_if_any("burst", SOME_UNITS)?.unwrap_or(limit)));
    }
    if fields.has("burst") { Err(Invalid::new("burst")) } else { Ok(None) }
}
