//! Fields of a JSON object, read strictly: an integer is written as one, null is not absent, the last of a name counts.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use tallyring_engine::Invalid;

/// An event's fields, or those of one of its parts.
pub type Fields = Map<String, Value>;

/// The first field of an event that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadField {
    /// Its name; `None` for a part that is no object.
    name: Option<&'static str>,
    /// The part of a joint check that it belongs to.
    part: Option<usize>,
}

impl BadField {
    /// The field of that name.
    pub const fn named(name: &'static str) -> BadField {
        BadField { name: Some(name), part: None }
    }

    /// The whole, which is no JSON object.
    pub const fn line() -> BadField {
        BadField::named("line")
    }

    /// The field of that name in a part, counted from 0.
    pub const fn in_part(name: &'static str, part: usize) -> BadField {
        BadField { name: Some(name), part: Some(part) }
    }

    /// A part that is no object, counted from 0.
    pub const fn part(part: usize) -> BadField {
        BadField { name: None, part: Some(part) }
    }

    /// The same field, of a part.
    pub const fn of_part(self, part: usize) -> BadField {
        BadField { part: Some(part), ..self }
    }

    /// What it must be.
    pub fn allowed(&self) -> &'static str {
        match self.name {
            None => "a JSON object: a check without op",
            Some("line") => "a JSON object",
            Some("op") => "check, check_all, take, refund, reserve, settle, acquire or release",
            Some("t_us" | "charged_at_us") => "an integer, 0 ..= 2^53 - 1: microseconds since the Unix epoch",
            Some("key") => "a string of 1 ..= 512 bytes",
            Some("id" | "holder") => "a string of 1 ..= 128 bytes",
            Some("algorithm") => "token_bucket, gcra, leaky_bucket, fixed_window, sliding_log or sliding_counter",
            Some("limit") => {
                "an integer, 1 ..= 10^12 (sliding_log: 100,000), and the same wherever a check_all names the same key"
            }
            Some("calendar") => "day, week or month, of a fixed_window, and no period_us beside it",
            Some("period_us") => "an integer, 1 ..= 34,560,000,000,000: microseconds, up to 400 days",
            Some("burst") => "an integer, 1 ..= 10^12, of a token_bucket or a leaky_bucket",
            Some("cost") => "an integer, 0 ..= 10^12; at least 1 to reserve or to acquire",
            Some("keep" | "actual") => "an integer, 0 ..= 10^12",
            Some("force") => "true or false",
            Some("ttl_us") => "an integer from 1: microseconds, up to a day to reserve, up to 400 days to acquire",
            Some("checks") => "a list of 1 ..= 16 checks",
            Some(_) => "as docs/protocol.md says",
        }
    }
}

impl From<Invalid> for BadField {
    fn from(invalid: Invalid) -> BadField {
        BadField::named(invalid.field)
    }
}

impl fmt::Display for BadField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.part, self.name) {
            (None, name) => f.write_str(name.unwrap_or_default()),
            (Some(part), None) => write!(f, "checks[{part}]"),
            (Some(part), Some(name)) => write!(f, "checks[{part}].{name}"),
        }
    }
}

/// The fields of a text that is a JSON object.
///
/// # Errors
/// It is none: field `line`.
pub fn parse(line: &str) -> Result<Fields, BadField> {
    serde_json::from_str(line).map_err(|_| BadField::line())
}

/// An integer in `range`, if the field is there.
///
/// # Errors
/// It is there, and is none.
pub fn integer(fields: &Fields, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, BadField> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let number = value.as_u64().filter(|number| range.contains(number));
    number.map(Some).ok_or(BadField::named(name))
}

/// A text of 1 to `bytes_max` bytes.
///
/// # Errors
/// It is none, or not there.
pub fn text<'a>(fields: &'a Fields, name: &'static str, bytes_max: usize) -> Result<&'a str, BadField> {
    let text = fields.get(name).and_then(Value::as_str);
    text.filter(|text| (1..=bytes_max).contains(&text.len())).ok_or(BadField::named(name))
}

/// A text that `read` understands, if the field is there.
///
/// # Errors
/// It is there, and `read` does not understand it.
pub fn word<T>(
    fields: &Fields,
    name: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, BadField> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    value.as_str().and_then(read).map(Some).ok_or(BadField::named(name))
}

/// True or false; false if the field is not there.
///
/// # Errors
/// It is there, and is neither.
pub fn flag(fields: &Fields, name: &'static str) -> Result<bool, BadField> {
    fields.get(name).map_or(Some(false), Value::as_bool).ok_or(BadField::named(name))
}
