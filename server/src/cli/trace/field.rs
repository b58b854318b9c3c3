//! Fields of a JSON object, read strictly: an integer is written as one, null is not absent, the last of a name counts.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use tallyring_engine::Invalid;

/// An event's fields, or those of one of its parts.
pub(super) type Fields = Map<String, Value>;

/// The first field of an event that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadField {
    /// Its name; `None` for a part that is no object.
    name: Option<&'static str>,
    /// The part of a joint check that it belongs to.
    part: Option<usize>,
}

impl BadField {
    pub(super) const fn named(name: &'static str) -> BadField {
        BadField { name: Some(name), part: None }
    }

    pub(super) const fn line() -> BadField {
        BadField::named("line")
    }

    pub(super) const fn in_part(name: &'static str, part: usize) -> BadField {
        BadField { name: Some(name), part: Some(part) }
    }

    pub(super) const fn part(part: usize) -> BadField {
        BadField { name: None, part: Some(part) }
    }

    /// The same field, of a part.
    pub(super) const fn of_part(self, part: usize) -> BadField {
        BadField { part: Some(part), ..self }
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

/// The fields of a line that is a JSON object.
pub(super) fn parse(line: &str) -> Result<Fields, BadField> {
    serde_json::from_str(line).map_err(|_| BadField::line())
}

/// An integer in `range`, if the field is there.
pub(super) fn integer(
    fields: &Fields,
    name: &'static str,
    range: RangeInclusive<u64>,
) -> Result<Option<u64>, BadField> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let number = value.as_u64().filter(|number| range.contains(number));
    number.map(Some).ok_or(BadField::named(name))
}

/// A text of 1 to `bytes_max` bytes.
pub(super) fn text<'a>(fields: &'a Fields, name: &'static str, bytes_max: usize) -> Result<&'a str, BadField> {
    let text = fields.get(name).and_then(Value::as_str);
    text.filter(|text| (1..=bytes_max).contains(&text.len())).ok_or(BadField::named(name))
}

/// A text that `read` understands, if the field is there.
pub(super) fn word<T>(
    fields: &Fields,
    name: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, BadField> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    value.as_str().and_then(read).map(Some).ok_or(BadField::named(name))
}

/// True or false; false if the field is not there.
pub(super) fn flag(fields: &Fields, name: &'static str) -> Result<bool, BadField> {
    fields.get(name).map_or(Some(false), Value::as_bool).ok_or(BadField::named(name))
}
