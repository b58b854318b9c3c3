//! The fields of an event, judged one at a time; the first bad one is named.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::{Map, Number, Value};

/// An event that is none, by the name of its first bad field.
#[derive(Debug)]
pub(super) struct Invalid {
    pub(super) field: String,
}

impl Invalid {
    pub(super) fn new(field: &str) -> Self {
        Self { field: field.to_owned() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"error":"invalid","field":"{}"}}"#, self.field)
    }
}

/// A JSON object whose fields are read by name.
pub(super) struct Fields {
    object: Map<String, Value>,
}

impl Fields {
    /// Reads a line of text, which must be a JSON object.
    pub(super) fn parse(line: &str) -> Result<Self, Invalid> {
        let value = serde_json::from_str(line).map_err(|_| Invalid::new("line"))?;
        Self::of(value).ok_or(Invalid::new("line"))
    }

    /// The fields of an object; nothing else has any.
    pub(super) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self { object }),
            _ => None,
        }
    }

    /// Whether a field of that name is there, `null` too.
    pub(super) fn has(&self, name: &str) -> bool {
        self.object.contains_key(name)
    }

    /// A list.
    pub(super) fn list(&self, name: &str) -> Result<Vec<Value>, Invalid> {
        self.object.get(name).and_then(Value::as_array).cloned().ok_or(Invalid::new(name))
    }

    /// Text of 1 ..= `bytes_max` bytes.
    pub(super) fn text(&self, name: &str, bytes_max: usize) -> Result<String, Invalid> {
        let text = self.object.get(name).and_then(Value::as_str).ok_or(Invalid::new(name))?;
        if (1..=bytes_max).contains(&text.len()) { Ok(text.to_owned()) } else { Err(Invalid::new(name)) }
    }

    /// A JSON integer within `range`; 5.0 is none.
    pub(super) fn integer(&self, name: &str, range: RangeInclusive<i128>) -> Result<i128, Invalid> {
        let integer = self.object.get(name).and_then(Value::as_number).and_then(Number::as_i128);
        integer.filter(|integer| range.contains(integer)).ok_or(Invalid::new(name))
    }

    /// The same, or `None` where there is no such field.
    pub(super) fn integer_if_any(&self, name: &str, range: RangeInclusive<i128>) -> Result<Option<i128>, Invalid> {
        if self.has(name) { self.integer(name, range).map(Some) } else { Ok(None) }
    }

    /// A boolean, false where there is no such field.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Invalid> {
        match self.object.get(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or(Invalid::new(name)),
        }
    }
}
