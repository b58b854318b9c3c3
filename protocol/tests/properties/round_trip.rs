//! Whatever is written is read as what it was, and keeps the bounds of whoever may send it.

use proptest::prelude::*;
use tallyring_protocol::bounds::{HELLO_BYTES_MAX, REPLY_BYTES_MAX, REQUEST_BYTES_MAX};
use tallyring_protocol::{Frame, Hello, NodeId, PlacementSeed, Reply, Request, Topology, frame, topology};

use crate::parts::{hello, reply, request, text};

/// The frame that `bytes` are, to the last one, and within the bound.
fn only(bytes: &[u8], len_max: usize) -> Frame<'_> {
    let (frame, taken) = frame::split(bytes, len_max).expect("a length within the bound").expect("a whole frame");
    assert_eq!(taken, bytes.len());
    frame
}

fn node() -> impl Strategy<Value = topology::Node> {
    (0..1_u64 << 53, 0..=100_u32, 1..=1_024_u16, text(64), text(32))
        .prop_map(|(id, weight, shards, native, zone)| topology::Node { id: NodeId(id), weight, shards, native, zone })
}

proptest! {
    #[test]
    fn any_request_survives_the_wire(id: u32, parts in request()) {
        let mut bytes = Vec::new();
        parts.request().encode(id, &mut bytes);
        let frame = only(&bytes, REQUEST_BYTES_MAX);
        prop_assert_eq!(frame.id, id);
        prop_assert_eq!(Request::decode(&frame), Ok(parts.request()));
        prop_assert!(Reply::decode(&frame).is_err() && Hello::decode(&frame).is_err());
    }

    #[test]
    fn any_reply_survives_the_wire(id: u32, parts in reply()) {
        let mut bytes = Vec::new();
        parts.reply().encode(id, &mut bytes);
        let frame = only(&bytes, REPLY_BYTES_MAX);
        prop_assert_eq!(frame.id, if matches!(parts.reply(), Reply::Welcome(_)) { 0 } else { id });
        prop_assert_eq!(Reply::decode(&frame), Ok(parts.reply()));
        prop_assert!(Request::decode(&frame).is_err() && Hello::decode(&frame).is_err());
    }

    #[test]
    fn any_hello_survives_the_wire(parts in hello()) {
        let mut bytes = Vec::new();
        parts.hello().encode(&mut bytes);
        prop_assert_eq!(Hello::decode(&only(&bytes, HELLO_BYTES_MAX)), Ok(parts.hello()));
    }

    #[test]
    fn any_topology_survives_its_json(
        epoch: u64,
        seed: [u8; 16],
        gateways in 1..=u32::MAX,
        mut nodes in prop::collection::vec(node(), 0..5),
    ) {
        nodes.sort_by_key(|node| node.id);
        nodes.dedup_by_key(|node| node.id);
        let topology = Topology { epoch, placement_seed: PlacementSeed(seed), nodes, gateways };
        prop_assert_eq!(Topology::from_json(&topology.to_json()), Ok(topology));
    }
}
