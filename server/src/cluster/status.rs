//! The cluster in numbers, for people and their tools: `GET /v1/cluster`.

use serde::{Deserialize, Serialize};
use tallyring_protocol::{NodeId, Placement, Ring, Topology};

use super::control::member::{self, Addresses, Member};
use super::control::{self, state};

/// Placements that are looked up to find the members' shares: as many as tell a hundredth of a part.
const SAMPLES: u64 = 1 << 13;

/// The whole, in the parts that a share is told in.
const WHOLE_PPM: u64 = 1_000_000;

/// The cluster as one of its nodes sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The node that answers.
    pub node: u64,
    /// Tells the cluster from others.
    pub cluster: String,
    /// Grows with every change of the ring.
    pub epoch: u64,
    /// Gateways that were seen lately.
    pub gateways: u32,
    /// What every member's program knows.
    pub feature_level: u16,
    /// Who leads; `None` = nobody that this node knows of.
    pub leader: Option<u64>,
    /// The how-manieth leader it is.
    pub term: u64,
    /// Entries of the log that the node has applied.
    pub applied: u64,
    /// How far the node's clock is behind what it follows, in microseconds; negative = ahead.
    pub clock_behind_us: i64,
    /// The members, in ascending order of their ids.
    pub members: Vec<Standing>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Unique in the cluster.
    pub id: u64,
    /// `host:port` of its native listener.
    pub native: String,
    /// Of its HTTP listener.
    pub http: String,
    /// Of its RESP listener.
    pub resp: String,
    /// Where other nodes call it.
    pub peer: String,
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
    /// Whether it votes on changes.
    pub votes: bool,
    /// Entries of the log that it lacks; only who leads knows.
    pub lag: Option<u64>,
    /// The version of its program.
    pub version: String,
    /// What its program knows.
    pub feature_level: u16,
}

/// What a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It decides.
    Serving,
    /// It ends: it answers what is asked meanwhile.
    Draining,
    /// Nobody hears of it.
    Down,
}

/// What one node knows of its cluster.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Which node.
    pub node: NodeId,
    /// What all agree on.
    pub state: &'a state::State,
    /// How the node stands among them.
    pub standing: &'a control::Standing,
    /// What gateways are told.
    pub topology: &'a Topology,
    /// How far its clock is behind, in microseconds.
    pub clock_behind_us: i64,
    /// Whether it ends.
    pub is_draining: bool,
}

impl Status {
    /// What a node says of what it knows.
    pub fn of(seen: &Seen<'_>) -> Status {
        let ring = seen.topology.ring();
        let Seen { state, standing, .. } = seen;
        Status {
            node: seen.node.0,
            cluster: state.cluster().map(|cluster| cluster.id.to_string()).unwrap_or_default(),
            epoch: seen.topology.epoch,
            gateways: seen.topology.gateways,
            feature_level: state.feature_level(),
            leader: standing.leader.map(|leader| leader.0),
            term: standing.term,
            applied: standing.applied,
            clock_behind_us: seen.clock_behind_us,
            members: state.members().values().map(|member| seen.member(member, &ring)).collect(),
        }
    }
}

impl Seen<'_> {
    fn member(&self, member: &Member, ring: &Ring) -> Standing {
        let Addresses { native, http, resp, peer } = member.addresses.clone();
        Standing {
            id: member.id.0,
            native,
            http,
            resp,
            peer,
            zone: member.zone.clone(),
            weight: member.weight,
            shards: member.shards,
            share_ppm: share_ppm(ring, member.id),
            state: self.state_of(member),
            votes: self.standing.voters.contains(&member.id),
            lag: self.standing.lags.get(&member.id).copied(),
            version: member.version.clone(),
            feature_level: member.feature_level,
        }
    }

    fn state_of(&self, member: &Member) -> State {
        match member.status {
            _ if self.is_draining && member.id == self.node => State::Draining,
            member::Status::Up => State::Serving,
            member::Status::Draining => State::Draining,
            member::Status::Down => State::Down,
        }
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
    use super::super::control::change::{Change, ChangeId, ClusterId, Founding, Seeds, What};
    use super::super::control::member::NodeKey;
    use super::*;

    fn member(id: u64, weight: u32) -> Member {
        let at = |port: u16| format!("store-{id}:{port}");
        let addresses = Addresses { native: at(4170), http: at(4171), resp: at(4172), peer: at(4174) };
        let (key, version) = (NodeKey(id.into()), "0.1.0".to_owned());
        Member { key, weight, shards: 2, feature_level: 1, version, ..Member::new(NodeId(id), addresses) }
    }

    /// What node 1 says of members with these weights, in a cluster that it leads.
    fn status(weights: &[u32]) -> Status {
        let mut state = state::State::default();
        let seeds = Seeds { placement: [1; 16], identity: [2; 16] };
        for (at, weight) in weights.iter().enumerate() {
            let member = member(at as u64 + 1, *weight);
            let what = match at {
                0 => What::Found(Founding { cluster: ClusterId(7), seeds, founder: member }),
                _ => What::Join(member),
            };
            state.apply(&Change { id: ChangeId(at as u128), at_us: 7, what });
        }
        let standing = control::Standing {
            leader: Some(NodeId(1)),
            voters: [NodeId(1)].into(),
            lags: [(NodeId(1), 0), (NodeId(2), 5)].into(),
            ..control::Standing::default()
        };
        let topology = state.topology(3).unwrap();
        Status::of(&Seen {
            node: NodeId(1),
            state: &state,
            standing: &standing,
            topology: &topology,
            clock_behind_us: -3,
            is_draining: true,
        })
    }

    #[test]
    fn a_cluster_of_one_has_all_of_the_ring() {
        let status = status(&[1]);
        assert_eq!((status.node, status.epoch, status.gateways, status.leader), (1, 7, 3, Some(1)));
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

    #[test]
    fn who_votes_and_who_is_behind_is_said() {
        let status = status(&[1, 1, 1]);
        let seen: Vec<_> = status.members.iter().map(|member| (member.votes, member.lag)).collect();
        assert_eq!(seen, [(true, Some(0)), (false, Some(5)), (false, None)]);
    }
}
