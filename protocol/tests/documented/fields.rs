//! The tables of fields and flags: they are walked over golden frames, byte by byte.
//!
//! A field is where its table says if a body that ends there makes the decoder ask for just that field. A flag means
//! something if, and only if, a table has it.

use std::borrow::Cow;
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
        sized if SIZED.iter().any(|prefix| sized.starts_with(prefix)) => {
            2 + usize::from(u16::from_le_bytes([rest[0], rest[1]]))
        }
        other => panic!("no type of the protocol: {other}"),
    }
}

/// Types that have a length of two bytes in front.
const SIZED: [&str; 3] = ["text ≤ ", "name ≤ ", "sized key"];

/// A documented field: its name as errors give it, its type, where it begins in the body.
#[derive(Clone)]
struct Field {
    name: Cow<'static, str>,
    kind: &'static str,
    at: usize,
}

/// Walks the fields of a kind's tables over the body of a frame.
fn walk(kind: Kind, body: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    let Some(table) = section(kind, "offset") else { return fields };
    let mut at = 0;
    for ((offset, name), of) in table.pairs("offset", "field").into_iter().zip(table.column("type")) {
        assert!(offset == "…" || offset.parse() == Ok(at), "{name}: documented at {offset}, is at {at}");
        if of == "parts" {
            let parts = section(kind, "in a part").expect("a table of what a part is");
            at = walk_parts(&parts, body, at, &mut fields);
        } else {
            fields.push(Field { name: name.into(), kind: of, at });
            at += size(of, &body[at..]);
        }
    }
    fields
}

/// Walks as many parts as the byte before the first one says; where the last one ends.
fn walk_parts(table: &Table, body: &[u8], mut at: usize, fields: &mut Vec<Field>) -> usize {
    for part in 0..body[at - 1] {
        let begins = at;
        for ((offset, name), kind) in table.pairs("in a part", "field").into_iter().zip(table.column("type")) {
            assert!(offset == "…" || offset.parse() == Ok(at - begins), "{name}: documented at {offset} of its part");
            fields.push(Field { name: format!("checks[{part}].{name}").into(), kind, at });
            at += size(kind, &body[at..]);
        }
    }
    at
}

/// Every documented field of every kind, and the frame that has it.
fn documented_fields() -> Vec<(Vec<u8>, Field)> {
    let mut fields = Vec::new();
    for (kind, bytes) in longest_frames() {
        let body = &bytes[12..];
        let walked = walk(kind, body);
        let end = walked.last().map_or(0, |last| last.at + size(last.kind, &body[last.at..]));
        assert_eq!(end, body.len(), "the table of {kind:?} ends elsewhere than the frame");
        fields.extend(walked.into_iter().map(|field| (bytes.clone(), field)));
    }
    fields
}

#[test]
fn every_field_is_where_its_table_says() {
    for (bytes, Field { name, at, .. }) in documented_fields() {
        let frame = whole(&bytes);
        let cut = Frame { body: &frame.body[..at], ..frame };
        assert_eq!(read(&cut).unwrap_err().path(), name, "kind {:#x}, body offset {at}", frame.kind);
    }
}

#[test]
fn every_text_may_be_as_long_as_its_table_says_and_no_longer() {
    for (bytes, Field { name, kind, at }) in documented_fields() {
        let Some(max) = kind.strip_prefix("text ≤ ").or(kind.strip_prefix("name ≤ ")) else { continue };
        let max: u16 = max.parse().expect("a number");
        let frame = whole(&bytes);
        let refused = |len: u16| {
            let text = [&len.to_le_bytes()[..], &b"x".repeat(len.into())].concat();
            let body = [&frame.body[..at], &text].concat();
            read(&Frame { body: &body, ..frame }).is_err_and(|malformed| malformed.path() == name)
        };
        assert!(!refused(max), "{name}");
        assert!(refused(max + 1), "{name}");
        assert_eq!(refused(0), kind.starts_with("name"), "{name}: a text may be empty, a name may not");
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
