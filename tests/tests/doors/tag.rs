//! Keys of one tag: one shard has them all.

use serde_json::{Value, json};

/// In front of every key; the native protocol's keys have the same tag.
pub(crate) const TAG: &str = "{trace}";

/// Longest key, in bytes, the tag included.
const KEY_BYTES_MAX: usize = 512;

/// The event with the tag in front of every key that has room for it.
pub(crate) fn tagged(event: &Value) -> Value {
    let mut event = event.clone();
    let parts = event.get_mut("checks").and_then(Value::as_array_mut);
    parts.into_iter().flatten().for_each(tag);
    tag(&mut event);
    event
}

fn tag(event: &mut Value) {
    let key = event.get("key").and_then(Value::as_str).filter(|key| key.len() + TAG.len() <= KEY_BYTES_MAX);
    if let Some(tagged) = key.filter(|key| !key.is_empty()).map(|key| format!("{TAG}{key}")) {
        event["key"] = json!(tagged);
    }
}
