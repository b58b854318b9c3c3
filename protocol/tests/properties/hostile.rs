//! Hostile bytes are an error with a field's name, never a panic.

use proptest::prelude::*;
use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{Frame, Hello, KeyRef, Reply, Request, Topology, frame};

use crate::parts::{any_frame, request};

/// Reads a frame as everything that it could be. What can be read is written to something that reads the same.
fn read_as_everything(frame: &Frame<'_>) {
    let mut bytes = Vec::new();
    if let Ok(request) = Request::decode(frame) {
        request.encode(frame.id, &mut bytes);
        assert_eq!(Request::decode(&first(&bytes)), Ok(request));
    } else if let Ok(reply) = Reply::decode(frame) {
        reply.encode(frame.id, &mut bytes);
        assert_eq!(Reply::decode(&first(&bytes)), Ok(reply));
    } else if let Ok(hello) = Hello::decode(frame) {
        hello.encode(&mut bytes);
        assert_eq!(Hello::decode(&first(&bytes)), Ok(hello));
    }
}

fn first(bytes: &[u8]) -> Frame<'_> {
    frame::split(bytes, REPLY_BYTES_MAX).expect("a length").expect("a whole frame").0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_frame_is_read_or_refused(bytes in any_frame()) {
        read_as_everything(&first(&bytes));
    }

    #[test]
    fn any_bytes_are_split_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64), len_max: usize) {
        if let Ok(Some((frame, taken))) = frame::split(&bytes, len_max) {
            prop_assert!(taken <= bytes.len() && taken <= len_max);
            read_as_everything(&frame);
        }
    }

    #[test]
    fn any_bytes_are_a_key_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        match KeyRef::from_block(&bytes) {
            Ok(key) => {
                let owned = key.to_key();
                prop_assert_eq!(owned.as_ref().block(), bytes);
            }
            Err(malformed) => prop_assert_eq!(malformed.field, "key"),
        }
    }

    #[test]
    fn any_text_is_a_topology_or_refused(text in r#"[{}\[\]":,0-9a-z_]{0,80}"#, bytes: Vec<u8>) {
        for json in [text.as_bytes(), &bytes] {
            if let Err(malformed) = Topology::from_json(json) {
                prop_assert_eq!(malformed.field, "topology");
            }
        }
    }

    #[test]
    fn one_wrong_byte_in_a_request_is_no_panic(parts in request(), at: prop::sample::Index, byte: u8) {
        let mut bytes = Vec::new();
        parts.request().encode(1, &mut bytes);
        let at = 4 + at.index(bytes.len() - 4); // the length stays: it is the splitter's
        bytes[at] = byte;
        read_as_everything(&first(&bytes));
    }

    #[test]
    fn a_request_that_ends_too_soon_is_refused(parts in request(), cut: prop::sample::Index) {
        let mut bytes = Vec::new();
        parts.request().encode(1, &mut bytes);
        let whole = first(&bytes);
        prop_assume!(!whole.body.is_empty());
        let body = &whole.body[..cut.index(whole.body.len())];
        // A key has no end of its own: a shorter frame may hold a shorter key, and never more than that.
        if let Ok(read) = Request::decode(&Frame { body, ..whole }) {
            prop_assert!(!matches!(read, Request::Define(_) | Request::Ping | Request::CheckAll(_)), "{:?}", read);
        }
    }
}

#[test]
fn deep_json_is_refused_before_it_is_deep() {
    let deep = "[".repeat(REPLY_BYTES_MAX);
    assert!(Topology::from_json(deep.as_bytes()).is_err());
    let nodes = format!("{{\"nodes\":{deep}");
    assert!(Topology::from_json(nodes.as_bytes()).is_err());
}

#[test]
fn the_fuzzers_corpus_is_read_or_refused() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/frames");
    let inputs: Vec<Vec<u8>> = std::fs::read_dir(folder)
        .expect("a corpus")
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("an input"))
        .collect();
    assert!(!inputs.is_empty());
    for input in inputs {
        let mut rest = &input[..];
        while let Ok(Some((frame, taken))) = frame::split(rest, REPLY_BYTES_MAX) {
            read_as_everything(&frame);
            rest = &rest[taken..];
        }
    }
}
