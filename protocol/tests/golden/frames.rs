//! Golden frames: each named message encodes to its bytes, and its bytes decode to the message.

use std::collections::{BTreeMap, BTreeSet};

use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{Frame, Hello, Kind, Topology, frame};

use crate::messages::{Message, TOPOLOGY_JSON, messages};
use crate::section::sections;

/// The one golden frame that this version reads but cannot write.
const LATER_HELLO: &str = "hello_of_version_9";

fn golden() -> BTreeMap<&'static str, Vec<u8>> {
    sections(include_str!("../../testdata/frames.txt")).iter().map(|section| (section.name, section.bytes())).collect()
}

/// The frame that `bytes` are, to the last one.
fn whole(bytes: &[u8]) -> Frame<'_> {
    let (frame, taken) = frame::split(bytes, REPLY_BYTES_MAX).expect("a length").expect("a whole frame");
    assert_eq!(taken, bytes.len());
    frame
}

#[test]
fn every_message_encodes_to_its_golden_frame() {
    let golden = golden();
    for (name, message) in messages() {
        assert_eq!(message.encode(), golden[name], "{name}");
    }
}

#[test]
fn every_golden_frame_decodes_to_its_message() {
    let golden = golden();
    for (name, message) in messages() {
        assert_eq!(Message::decode(&whole(&golden[name])), Ok(message), "{name}");
    }
}

#[test]
fn every_golden_frame_has_a_message() {
    let names: BTreeSet<&str> = messages().iter().map(|(name, _)| *name).chain([LATER_HELLO]).collect();
    assert_eq!(names, golden().into_keys().collect());
    assert_eq!(names.len(), sections(include_str!("../../testdata/frames.txt")).len(), "a name comes twice");
}

#[test]
fn every_kind_has_a_golden_frame() {
    let shown: BTreeSet<u8> = golden().values().map(|bytes| whole(bytes).kind).collect();
    let known: BTreeSet<u8> = (0..=u8::MAX).filter(|code| Kind::from_code(*code).is_some()).collect();
    assert_eq!(shown, known);
}

#[test]
fn a_hello_of_a_later_version_is_read_as_far_as_it_is_known() {
    let bytes = &golden()[LATER_HELLO];
    let known = Hello { version: 9, shard: 0, deadline_max_us: 5_000, instance: 7, name: "edge-1", token: "" };
    assert_eq!(Hello::decode(&whole(bytes)), Ok(known));
}

#[test]
fn the_golden_topology_is_what_this_version_pushes() {
    let topology = Topology::from_json(TOPOLOGY_JSON).unwrap();
    assert_eq!(topology.to_json(), TOPOLOGY_JSON);
    assert_eq!(topology.nodes.len(), 2);
}
