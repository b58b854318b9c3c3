//! A document as a tree, whichever language it was written in: what reading (`fields`) begins with.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Integer(i128),
    /// A number that is not whole, as it was written: no float ever holds it.
    Decimal(String),
    Text(String),
    /// What no field of a document is: a date, say.
    Other(&'static str),
    List(Vec<Value>),
    Table(BTreeMap<String, Value>),
}

/// A number that no field has room for.
pub(crate) const FAR_TOO_LARGE: Value = Value::Other("a number that is far too large");

impl Value {
    /// What it is, for somebody who expected something else.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Flag(_) => "true or false",
            Value::Integer(_) => "a whole number",
            Value::Decimal(_) => "a decimal number",
            Value::Text(_) => "a text",
            Value::Other(kind) => kind,
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// Digits of the largest number that an integer holds; JSON integers beyond it reach us as floats.
const DIGITS_MAX: usize = 19;

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Integer(number.into()))
    }

    /// JSON numbers reach us as floats. Their shortest text is what was written, for any number of up to 15 digits; a
    /// whole one was written with a point, or it would be an integer.
    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        let text = number.to_string();
        Ok(match text.len() {
            _ if text.contains('.') => Value::Decimal(text),
            0..=DIGITS_MAX => Value::Decimal(text + ".0"),
            _ => FAR_TOO_LARGE,
        })
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut table = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if table.contains_key(&name) {
                return Err(de::Error::custom(format_args!("the field {name:?} is there twice")));
            }
            table.insert(name, map.next_value()?);
        }
        Ok(Value::Table(table))
    }
}
