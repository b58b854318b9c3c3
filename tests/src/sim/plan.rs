//! What a simulation is to be: how long, and which faults come when.

use std::time::Duration;

use tallyring::sys::random;

use super::fate::{Doom, Fault};

/// Nodes of the cluster: three of them vote.
pub const NODES: u64 = 4;

/// When the first fault may come: the cluster is whole by then.
const FAULTS_FROM: Duration = Duration::from_millis(2_500);

/// A simulation to be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The faults, in order.
    pub(super) dooms: Vec<Doom>,
    /// When everything is whole again.
    pub healed_at: Duration,
    /// When nothing is changed any more.
    pub quiet_at: Duration,
    /// When it ends.
    pub ends_at: Duration,
}

impl Plan {
    /// What is drawn from the seed.
    pub(super) fn draw() -> Plan {
        let healed_at = Duration::from_millis(9_500);
        let mut dooms = Vec::new();
        let mut at = FAULTS_FROM;
        while at < healed_at {
            dooms.push(Doom { at, fault: fault(healed_at - at) });
            at += if random::up_to(3) == 0 { ms(10, 150) } else { ms(200, 1_200) };
        }
        let quiet_at = healed_at + Duration::from_millis(2_500);
        Plan { dooms, healed_at, quiet_at, ends_at: quiet_at + Duration::from_millis(1_000) }
    }

    /// Nodes that end for good at some instant of a simulation that lasts so long.
    pub fn of_deaths(deaths: &[(Duration, u64)], ends_at: Duration) -> Plan {
        let doom =
            |(at, node): &(Duration, u64)| Doom { at: *at, fault: Fault::Crash { node: *node, down_for: ends_at } };
        let dooms = deaths.iter().map(doom).collect();
        Plan { dooms, healed_at: ends_at, quiet_at: ends_at - Duration::from_secs(1), ends_at }
    }
}

/// A fault; who is to leave must have the time to come back.
fn fault(left: Duration) -> Fault {
    let node = node();
    match random::up_to(11) {
        0..=2 => Fault::Crash { node, down_for: if random::up_to(1) == 0 { ms(5, 50) } else { ms(50, 1_500) } },
        3 => Fault::Behead { down_for: ms(50, 1_500) },
        4 | 5 => Fault::Deafen { from: node, to: other(node), lasts: ms(50, 1_500) },
        6 | 7 => Fault::Isolate { node, lasts: ms(50, 1_500) },
        8 => Fault::Slow { node, latency: ms(10, 200), lasts: ms(50, 1_500) },
        9 => Fault::Quicken { node, wrong_ppm: signed(5_000) },
        10 => Fault::SetClock { node, by_us: signed(3_600_000_000) },
        _ if left > Duration::from_secs(3) => Fault::Leave { node },
        _ => Fault::Isolate { node, lasts: ms(50, 500) },
    }
}

fn node() -> u64 {
    1 + random::up_to(NODES - 1)
}

fn other(node: u64) -> u64 {
    1 + (node + random::up_to(NODES - 2)) % NODES
}

fn ms(from: u64, to: u64) -> Duration {
    Duration::from_millis(from + random::up_to(to - from))
}

/// A number from `-most` up to and including `most`.
pub(super) fn signed(most: i64) -> i64 {
    let drawn = random::up_to(2 * most.unsigned_abs());
    i64::try_from(drawn).expect("a small number") - most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_node_is_another_one() {
        for node in 1..=NODES {
            assert!((0..100).map(|_| other(node)).all(|other| other != node && (1..=NODES).contains(&other)));
        }
    }
}
