//! Any bytes, read as frames: nothing panics, and whatever can be read is written back to something that reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tallyring_protocol::bounds::{REPLY_BYTES_MAX, REQUEST_BYTES_MAX};
use tallyring_protocol::rules::RuleSet;
use tallyring_protocol::{Frame, Hello, Reply, Request, Topology, frame};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some((frame, taken))) = frame::split(rest, REPLY_BYTES_MAX) {
        read_as_request(&frame);
        read_as_reply(&frame);
        read_as_hello(&frame);
        rest = &rest[taken..];
    }
    // Mutation seldom finds a topology or rules behind a frame's header: the bytes are read as both, too.
    read_as_topology(bytes);
    read_as_rules(bytes);
});

/// The one frame that `bytes` are. What we write must be whole, and within the bound of who may send it.
fn only(bytes: &[u8], len_max: usize) -> Frame<'_> {
    let (frame, taken) = frame::split(bytes, len_max).expect("a length that we wrote").expect("a whole frame");
    assert_eq!(taken, bytes.len());
    frame
}

fn read_as_request(frame: &Frame<'_>) {
    let Ok(request) = Request::decode(frame) else { return };
    let mut bytes = Vec::new();
    request.encode(frame.id, &mut bytes);
    let again = only(&bytes, REQUEST_BYTES_MAX);
    assert_eq!((again.kind, again.id), (frame.kind, frame.id));
    assert_eq!(Request::decode(&again), Ok(request));
}

fn read_as_reply(frame: &Frame<'_>) {
    let Ok(reply) = Reply::decode(frame) else { return };
    let mut bytes = Vec::new();
    reply.encode(frame.id, &mut bytes);
    let again = only(&bytes, REPLY_BYTES_MAX);
    assert_eq!(again.kind, frame.kind);
    match &reply {
        Reply::Topology(json) => read_as_topology(json),
        Reply::Rules(rules) => read_as_rules(&rules.json),
        _ => {}
    }
    assert_eq!(Reply::decode(&again), Ok(reply));
}

fn read_as_hello(frame: &Frame<'_>) {
    let Ok(hello) = Hello::decode(frame) else { return };
    let mut bytes = Vec::new();
    hello.encode(&mut bytes);
    assert_eq!(Hello::decode(&only(&bytes, REQUEST_BYTES_MAX)), Ok(hello));
}

fn read_as_topology(json: &[u8]) {
    let Ok(topology) = Topology::from_json(json) else { return };
    assert_eq!(Topology::from_json(&topology.to_json()), Ok(topology));
}

fn read_as_rules(json: &[u8]) {
    let Ok(rules) = RuleSet::from_json(json) else { return };
    let again = RuleSet::from_json(rules.to_json().as_bytes()).expect("rules that we wrote");
    assert_eq!(again.document(), rules.document());
}
