//! The table of bounds holds all of the code's, with their values.

use std::collections::BTreeMap;

use tallyring_protocol::bounds;

use crate::DOCUMENT;
use crate::markdown::table;

macro_rules! values {
    ($($name:ident),* $(,)?) => { BTreeMap::from([$((stringify!($name), bounds::$name as u64)),*]) };
}

fn values() -> BTreeMap<&'static str, u64> {
    values![
        HEADER_BYTES,
        REQUEST_BYTES_MAX,
        HELLO_BYTES_MAX,
        REPLY_BYTES_MAX,
        RULES_BYTES_MAX,
        KEY_BYTES_MAX,
        CLIENT_NAME_BYTES_MAX,
        TOKEN_BYTES_MAX,
        RULE_ID_BYTES_MAX,
        NAME_BYTES_MAX,
        PARTS_MAX,
        RULES_MAX,
        HANDLES_MAX,
        REASON_BYTES_MAX,
        NODES_MAX,
        SHARDS_MAX,
        WAIT_NEVER_US,
        WAIT_US_MAX,
    ]
}

#[test]
fn every_bound_has_its_value_in_the_table() {
    let rows = table(DOCUMENT, "11. Bounds", "bound").expect("a table").pairs("bound", "value");
    let documented: BTreeMap<&str, u64> =
        rows.into_iter().map(|(name, value)| (name, value.replace(',', "").parse().expect("a number"))).collect();
    assert_eq!(documented, values());
}

#[test]
fn no_bound_of_the_code_is_forgotten_here() {
    let source = include_str!("../../src/bounds.rs");
    let names = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    assert!(names.eq(source_order(source)), "a constant that values() does not have");
}

/// The bounds of `values`, in the order in which the source has them.
fn source_order(source: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = values().into_keys().collect();
    names.sort_by_key(|name| source.find(&format!("pub const {name}:")));
    names
}
