//! The one thing that is not read in place is a topology: what it takes is a small multiple of its JSON, which is bounded.

use std::mem::size_of;

use tallyring_protocol::bounds::{NODES_MAX, REPLY_BYTES_MAX, RULES_BYTES_MAX};
use tallyring_protocol::reply::Rules;
use tallyring_protocol::rules::RulesVersion;
use tallyring_protocol::{NodeId, PlacementSeed, Reply, Topology, topology};

/// Longest name of a host in DNS, with a port behind it, in bytes.
const ADDRESS_BYTES: usize = 253 + 6;

/// A topology takes at most this many times the bytes of its JSON.
const BLOW_UP_MAX: usize = 4;

fn cluster(nodes: usize, native: &str, zone: &str) -> Topology {
    let node = |id: usize| topology::Node {
        id: NodeId((1 << 53) - 1 - id as u64),
        weight: 100,
        shards: 1_024,
        native: native.into(),
        zone: zone.into(),
    };
    let placement_seed = PlacementSeed([0xFF; 16]);
    Topology { epoch: u64::MAX, placement_seed, nodes: (0..nodes).map(node).collect(), gateways: u32::MAX }
}

/// So many nodes of the least text.
fn tiny_nodes(nodes: usize) -> String {
    let node = |id| format!(r#"{{"id":{id},"weight":1,"shards":1,"native":""}}"#);
    let nodes = (0..nodes).map(node).collect::<Vec<_>>().join(",");
    format!(r#"{{"epoch":1,"placement_seed":"{}","gateways":1,"nodes":[{nodes}]}}"#, "0".repeat(32))
}

fn heap_bytes(topology: &Topology) -> usize {
    let texts: usize = topology.nodes.iter().map(|node| node.native.capacity() + node.zone.capacity()).sum();
    topology.nodes.capacity() * size_of::<topology::Node>() + texts
}

#[test]
fn the_largest_cluster_fits_one_reply() {
    let json = cluster(NODES_MAX, &"h".repeat(ADDRESS_BYTES), &"z".repeat(ADDRESS_BYTES)).to_json();
    let mut bytes = Vec::new();
    Reply::Topology(json.into()).encode(0, &mut bytes);
    assert!(bytes.len() <= REPLY_BYTES_MAX, "{} bytes", bytes.len());
}

#[test]
fn the_longest_rules_fit_one_reply() {
    let mut bytes = Vec::new();
    Reply::Rules(Rules { version: RulesVersion::NONE, json: vec![b' '; RULES_BYTES_MAX].into() }).encode(1, &mut bytes);
    assert!(bytes.len() <= REPLY_BYTES_MAX, "{} bytes", bytes.len());
}

#[test]
fn a_topology_takes_a_small_multiple_of_its_json() {
    for json in [tiny_nodes(1), tiny_nodes(513), tiny_nodes(NODES_MAX)] {
        let topology = Topology::from_json(json.as_bytes()).unwrap();
        let heap = heap_bytes(&topology);
        assert!(heap <= BLOW_UP_MAX * json.len(), "{heap} bytes of {}", json.len());
    }
}

#[test]
fn a_reply_full_of_nodes_is_refused() {
    let json = tiny_nodes(NODES_MAX + 1);
    assert!(json.len() < REPLY_BYTES_MAX);
    assert_eq!(Topology::from_json(json.as_bytes()).unwrap_err().field, "topology");
}
