//! A document in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Fault, behind, index, unreadable};
use crate::rules::value::Value;

pub(super) fn read(text: &str) -> Result<Value, Vec<Fault>> {
    serde_json::from_str(text).map_err(|error| vec![unreadable(error.line().max(1), &error.to_string())])
}

/// Whether a text is JSON, whatever it says.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Where the field of that path begins, or the nearest table around it: a part of the text as it stands, followed inwards.
pub(super) fn offset_of(text: &str, path: &str) -> usize {
    let mut found = text;
    let mut path = path;
    while let Some((inner, rest)) = step(found, path) {
        (found, path) = (inner.get(), rest);
    }
    found.as_ptr().addr() - text.as_ptr().addr()
}

fn step<'t, 'p>(text: &'t str, path: &'p str) -> Option<(&'t RawValue, &'p str)> {
    if let Some((index, rest)) = index(path) {
        let list: Vec<&'t RawValue> = serde_json::from_str(text).ok()?;
        return list.get(index).map(|value| (*value, rest));
    }
    let table: BTreeMap<Cow<'t, str>, &'t RawValue> = serde_json::from_str(text).ok()?;
    let fields = table.into_iter().filter_map(|(name, value)| Some((value, behind(path, &name)?)));
    fields.min_by_key(|(_, rest)| rest.len())
}
