//! A document in TOML.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Fault, behind, index, line_of, unreadable};
use crate::rules::error::{FAULTS_MAX, and_others};
use crate::rules::value::{FAR_TOO_LARGE, Value};

/// A document that can be read.
pub(super) struct Toml<'t>(Spanned<DeTable<'t>>);

impl<'t> Toml<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Toml<'t>, Vec<Fault>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let line = |error: &toml::de::Error| line_of(text, error.span().map_or(0, |span| span.start));
        if errors.is_empty() {
            return Ok(Toml(table));
        }
        let listed = errors.iter().take(FAULTS_MAX).map(|error| unreadable(line(error), error.message()));
        let others = errors.len().saturating_sub(FAULTS_MAX);
        let others = (others > 0).then(|| unreadable(line_of(text, text.len()), &and_others(others)));
        Err(listed.chain(others).collect())
    }

    pub(super) fn value(&self) -> Value {
        table_value(self.0.get_ref())
    }

    /// Where the field of that path begins, or the nearest table around it.
    pub(super) fn offset_of(&self, path: &str) -> usize {
        offset_in_table(self.0.get_ref(), path).unwrap_or(0)
    }
}

fn table_value(table: &DeTable<'_>) -> Value {
    let fields = table.iter().map(|(name, value)| (name.get_ref().to_string(), value_of(value.get_ref())));
    Value::Table(fields.collect())
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            i128::from_str_radix(number.as_str(), number.radix()).map_or(FAR_TOO_LARGE, Value::Integer)
        }
        DeValue::Float(number) => Value::Decimal(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(list) => Value::List(list.iter().map(|value| value_of(value.get_ref())).collect()),
        DeValue::Table(table) => table_value(table),
    }
}

fn offset_in_table(table: &DeTable<'_>, path: &str) -> Option<usize> {
    let fields = table.iter().filter_map(|(name, value)| Some((name, value, behind(path, name.get_ref())?)));
    let (name, value, rest) = fields.min_by_key(|(_, _, rest)| rest.len())?;
    Some(offset_in(value, rest).unwrap_or(name.span().start))
}

fn offset_in(value: &Spanned<DeValue<'_>>, path: &str) -> Option<usize> {
    match value.get_ref() {
        DeValue::Table(table) => offset_in_table(table, path),
        DeValue::Array(list) => {
            let (index, rest) = index(path)?;
            let element = list.get(index)?;
            Some(offset_in(element, rest).unwrap_or(element.span().start))
        }
        _ => None,
    }
}
