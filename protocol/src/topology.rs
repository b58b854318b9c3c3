//! Who is in the cluster and where to reach them: pushed to every client, as JSON, when it connects and when it changes.

use serde::{Deserialize, Serialize};

use crate::bounds::{NODES_MAX, SHARDS_MAX};
use crate::fields::Malformed;
use crate::key::PlacementSeed;
use crate::ring::{NodeId, Ring, RingMember, WEIGHT_MAX};

/// The cluster as of one epoch.
///
/// A client takes a topology only if its epoch is not below the one it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Grows with every change of the ring.
    pub epoch: u64,
    /// Hexadecimal in JSON.
    #[serde(with = "hex_seed")]
    pub placement_seed: PlacementSeed,
    /// The members, in ascending order of their ids.
    pub nodes: Vec<Node>,
    /// Gateways that the cluster has seen lately: what a local fallback divides a limit by. At least 1.
    pub gateways: u32,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Unique in the cluster; below 2^53, so that every JSON reader can hold it.
    pub id: NodeId,
    /// Its share of the ring relative to the others'.
    pub weight: u32,
    /// Its threads that own keys.
    pub shards: u16,
    /// `host:port` of its native listener.
    pub native: String,
    /// Where it stands: replicas go to another zone if there is one. May be empty.
    #[serde(default)]
    pub zone: String,
}

impl<'n> From<&'n Node> for RingMember<'n> {
    fn from(node: &'n Node) -> RingMember<'n> {
        RingMember { id: node.id, weight: node.weight, zone: &node.zone }
    }
}

impl Topology {
    /// The ring of its nodes.
    pub fn ring(&self) -> Ring {
        Ring::new(&self.placement_seed, &self.nodes)
    }

    /// The member with this id.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The topology as it is pushed.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a topology is text and numbers: it has a JSON form")
    }

    /// Reads what was pushed.
    ///
    /// # Errors
    /// [`Malformed`] with field `topology` if it is not JSON of this shape or exceeds a bound.
    pub fn from_json(json: &[u8]) -> Result<Topology, Malformed> {
        let topology: Topology =
            serde_json::from_slice(json).map_err(|_| Malformed::new("topology", "not JSON of a topology's shape"))?;
        topology.check()?;
        Ok(topology)
    }

    /// The rules that a topology of any origin keeps, each a comparison.
    fn check(&self) -> Result<(), Malformed> {
        let nodes = &self.nodes;
        let weights: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
        let rules = [
            (nodes.len() <= NODES_MAX, "nodes: at most 1,000"),
            (nodes.iter().all(|node| node.id.0 < 1 << 53), "id: below 2^53, so that every JSON reader can hold it"),
            (nodes.is_sorted_by(|a, b| a.id < b.id), "nodes: in ascending order of their ids, each once"),
            (nodes.iter().all(|node| (1..=SHARDS_MAX).contains(&node.shards)), "shards: 1 ..= 1,024"),
            (nodes.iter().all(|node| node.weight <= WEIGHT_MAX), "weight: at most 100"),
            (weights <= WEIGHTS_SUM_MAX, "weight: at most 4,000 over all nodes"),
            (self.gateways >= 1, "gateways: at least 1"),
        ];
        match rules.into_iter().find(|(kept, _)| !kept) {
            Some((_, rule)) => Err(Malformed::new("topology", rule)),
            None => Ok(()),
        }
    }
}

/// All weights together, so that a ring takes a bounded number of points: some four million.
pub const WEIGHTS_SUM_MAX: u64 = 4_000;

mod hex_seed {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::key::PlacementSeed;

    pub(super) fn serialize<S: Serializer>(seed: &PlacementSeed, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&seed.to_hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PlacementSeed, D::Error> {
        let text = String::deserialize(from)?;
        PlacementSeed::from_hex(&text).ok_or_else(|| D::Error::custom("placement_seed: not 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology() -> Topology {
        Topology {
            epoch: 3,
            placement_seed: PlacementSeed([0xAB; 16]),
            nodes: vec![Node {
                id: NodeId(1),
                weight: 1,
                shards: 2,
                native: "127.0.0.1:4170".into(),
                zone: String::new(),
            }],
            gateways: 4,
        }
    }

    #[test]
    fn a_topology_survives_its_json() {
        assert_eq!(Topology::from_json(&topology().to_json()), Ok(topology()));
    }

    #[test]
    fn its_json_is_readable_from_another_language() {
        let expect = r#"{"epoch":3,"placement_seed":"abababababababababababababababab","nodes":[{"id":1,"weight":1,"shards":2,"native":"127.0.0.1:4170","zone":""}],"gateways":4}"#;
        assert_eq!(String::from_utf8(topology().to_json()).unwrap(), expect);
    }

    fn check_refused(change: impl FnOnce(&mut Topology), rule: &str) {
        let mut changed = topology();
        change(&mut changed);
        let error = Topology::from_json(&changed.to_json()).unwrap_err();
        assert_eq!((error.field, error.reason), ("topology", rule));
    }

    #[test]
    fn a_topology_that_breaks_a_rule_is_refused() {
        check_refused(|t| t.nodes[0].shards = 0, "shards: 1 ..= 1,024");
        check_refused(|t| t.nodes[0].weight = 101, "weight: at most 100");
        check_refused(|t| t.nodes[0].id = NodeId(1 << 53), "id: below 2^53, so that every JSON reader can hold it");
        check_refused(|t| t.nodes.push(t.nodes[0].clone()), "nodes: in ascending order of their ids, each once");
        check_refused(|t| t.gateways = 0, "gateways: at least 1");
        let crowd = |weight| {
            move |t: &mut Topology| {
                t.nodes = (0..50).map(|id| Node { id: NodeId(id), weight, ..t.nodes[0].clone() }).collect();
            }
        };
        check_refused(crowd(100), "weight: at most 4,000 over all nodes");
        assert!(Topology::from_json(b"{").is_err());
    }
}
