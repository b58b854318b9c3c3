//! The tables of fields and flags: they are walked over golden frames, byte by byte.
//!
//! A field is where its table says if a body that ends there makes the decoder ask for just that field. A flag means
//! something if, and only if, a table has it.

use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{Frame, Hello, Kind, Malformed, Reply, Request, Topology, frame};

use crate::markdown::{Table, table};
use crate::section::sections;
use crate::{DOCUMENT, snake};

/// Every kind, with the longest of its golden frames: the one that has every optional field.
fn longest_frames() -> Vec<(Kind, Vec<u8>)> {
    let golden = sections(include_str!("../../testdata/frames.txt"));
    let known: Vec<Vec<u8>> = golden.iter().filter(|s| s.name != "hello_of_version_9").map(|s| s.bytes()).collect();
    let longest = |kind: Kind| known.iter().filter(|bytes| bytes[4] == kind as u8).max_by_key(|bytes| bytes.len());
    let kinds = (0..=u8::MAX).filter_map(Kind::from_code);
    kinds.map(|kind| (kind, longest(kind).expect("a golden frame").clone())).collect()
}

fn whole(bytes: &[u8]) -> Frame<'_> {
    frame::split(bytes, REPLY_BYTES_MAX).expect("a length").expect("a whole frame").0
}

/// What a frame says, as text: enough to see whether two frames say the same.
fn read(frame: &Frame<'_>) -> Result<String, Malformed> {
    if frame.kind == Kind::Hello as u8 {
        return Hello::decode(frame).map(|hello| format!("{hello:?}"));
    }
    if frame.kind < 0x80 {
        return Request::decode(frame).map(|request| format!("{request:?}"));
    }
    let reply = Reply::decode(frame)?;
    if let Reply::Topology(json) = &reply {
        Topology::from_json(json)?;
    }
    Ok(format!("{reply:?}"))
}

/// The table under the kind's heading whose first column is `first`.
fn section(kind: Kind, first: &str) -> Option<Table> {
    table(DOCUMENT, &format!("`{}`", snake(&format!("{kind:?}"))), first)
}

/// How many bytes of `rest` a field of this type takes.
fn size(kind: &str, rest: &[u8]) -> usize {
    match kind {
        "u8" => 1,
        "u16" => 2,
        "u32" => 4,
        "u64" => 8,
        "u128" => 16,
        "key" | "JSON" => rest.len(),
        text if text.starts_with("text ≤ ") => 2 + usize::from(u16::from_le_bytes([rest[0], rest[1]])),
        other => panic!("no type of the protocol: {other}"),
    }
}

/// Walks the fields of a kind's table over a frame: (name, type, where it begins in the body).
fn walk(table: &Table, body: &[u8]) -> Vec<(&'static str, &'static str, usize)> {
    let mut at = 0;
    let mut fields = Vec::new();
    for ((offset, field), kind) in table.pairs("offset", "field").into_iter().zip(table.column("type")) {
        assert!(offset == "…" || offset.parse() == Ok(at), "{field}: documented at {offset}, is at {at}");
        fields.push((field, kind, at));
        at += size(kind, &body[at..]);
    }
    assert_eq!(at, body.len(), "the table ends before the frame");
    fields
}

/// Every documented field of every kind: the frame that has it, its name, its type, where it begins in the body.
fn documented_fields() -> Vec<(Vec<u8>, &'static str, &'static str, usize)> {
    let mut fields = Vec::new();
    for (kind, bytes) in longest_frames() {
        let body = &bytes[12..];
        match section(kind, "offset") {
            Some(table) => fields.extend(walk(&table, body).into_iter().map(|(f, t, at)| (bytes.clone(), f, t, at))),
            None => assert!(body.is_empty(), "{kind:?} has no table of fields"),
        }
    }
    fields
}

#[test]
fn every_field_is_where_its_table_says() {
    for (bytes, field, _, at) in documented_fields() {
        let frame = whole(&bytes);
        let cut = Frame { body: &frame.body[..at], ..frame };
        assert_eq!(read(&cut).unwrap_err().field, field, "kind {:#x}, body offset {at}", frame.kind);
    }
}

#[test]
fn every_text_may_be_as_long_as_its_table_says_and_no_longer() {
    for (bytes, field, kind, at) in documented_fields() {
        let Some(max) = kind.strip_prefix("text ≤ ") else { continue };
        let max: u16 = max.parse().expect("a number");
        let frame = whole(&bytes);
        let longer = |len: u16| {
            let text = [&len.to_le_bytes()[..], &b"x".repeat(len.into())].concat();
            let body = [&frame.body[..at], &text].concat();
            read(&Frame { body: &body, ..frame }).err().filter(|malformed| malformed.field == field)
        };
        assert_eq!(longer(max), None, "{field}");
        assert!(longer(max + 1).is_some(), "{field}");
    }
}

#[test]
fn a_flag_means_something_if_and_only_if_a_table_has_it() {
    for (kind, bytes) in longest_frames() {
        let documented = section(kind, "flag").map_or(Vec::new(), |table| table.column("flag"));
        let documented: Vec<u8> = documented.into_iter().map(|flag| flag.parse().expect("a number")).collect();
        let frame = whole(&bytes);
        for flag in (0..8).map(|bit| 1 << bit) {
            let toggled = Frame { flags: frame.flags ^ flag, ..frame };
            let matters = read(&toggled) != read(&frame);
            assert_eq!(matters, documented.contains(&flag), "{kind:?}: flag {flag}");
        }
    }
}
