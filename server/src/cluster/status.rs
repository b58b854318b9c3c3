//! The cluster in numbers, for people and their tools: `GET /v1/cluster`.

use serde::Serialize;
use tallyring_protocol::{Node, NodeId, Placement, Ring, Topology};

/// Placements that are looked up to find the members' shares: as many as tell a hundredth of a part.
const SAMPLES: u64 = 1 << 13;

/// The whole, in the parts that a share is told in.
const WHOLE_PPM: u64 = 1_000_000;

/// Who is in the cluster as one of its nodes sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The node that answers.
    pub node: u64,
    /// Grows with every change of the ring.
    pub epoch: u64,
    /// Gateways that were seen lately.
    pub gateways: u32,
    /// The members, in ascending order of their ids.
    pub members: Vec<Standing>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Unique in the cluster.
    pub id: u64,
    /// `host:port` of its native listener.
    pub native: String,
    /// Where it stands; may be empty.
    pub zone: String,
    /// Its share of the ring relative to the others'.
    pub weight: u32,
    /// Its threads that own keys.
    pub shards: u16,
    /// Its part of all keys, in millionths, to a hundredth of itself or so.
    pub share_ppm: u64,
    /// What it does with its part.
    pub state: State,
}

/// What a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It decides.
    Serving,
    /// It ends: it answers what is asked meanwhile.
    Draining,
}

impl Status {
    /// What `node` sees of the cluster, in the state that it is in itself.
    pub fn of(topology: &Topology, node: NodeId, state: State) -> Status {
        let ring = topology.ring();
        let standing = |member: &Node| Standing {
            id: member.id.0,
            native: member.native.clone(),
            zone: member.zone.clone(),
            weight: member.weight,
            shards: member.shards,
            share_ppm: share_ppm(&ring, member.id),
            state: if member.id == node { state } else { State::Serving },
        };
        let members = topology.nodes.iter().map(standing).collect();
        Status { node: node.0, epoch: topology.epoch, gateways: topology.gateways, members }
    }
}

/// The part of evenly spread placements that a node owns.
fn share_ppm(ring: &Ring, node: NodeId) -> u64 {
    let placements = (0..SAMPLES).map(|sample| Placement(sample * (u64::MAX / SAMPLES)));
    let owned = placements.filter(|placement| ring.owner(*placement) == Some(node)).count() as u64;
    owned * WHOLE_PPM / SAMPLES
}

#[cfg(test)]
mod tests {
    use tallyring_protocol::PlacementSeed;

    use super::*;

    fn status(weights: &[u32]) -> Status {
        let node = |(at, weight): (usize, &u32)| Node {
            id: NodeId(at as u64 + 1),
            weight: *weight,
            shards: 2,
            native: format!("store-{at}:4170"),
            zone: String::new(),
        };
        let nodes = weights.iter().enumerate().map(node).collect();
        let topology = Topology { epoch: 7, placement_seed: PlacementSeed([1; 16]), nodes, gateways: 3 };
        Status::of(&topology, NodeId(1), State::Draining)
    }

    #[test]
    fn a_cluster_of_one_has_all_of_the_ring() {
        let status = status(&[1]);
        assert_eq!((status.node, status.epoch, status.gateways), (1, 7, 3));
        assert_eq!((status.members[0].share_ppm, status.members[0].state), (WHOLE_PPM, State::Draining));
    }

    #[test]
    fn shares_follow_the_weights() {
        let status = status(&[1, 3, 0]);
        let [quarter, rest, none] = [0, 1, 2].map(|at| status.members[at].share_ppm);
        assert!((200_000..300_000).contains(&quarter), "{quarter}");
        assert!((999_998..=WHOLE_PPM).contains(&(quarter + rest)) && none == 0);
        assert_eq!(status.members[1].state, State::Serving);
    }
}
