//! While nothing fails, a node's clock is as far from its leader's as the node itself says, within twice a round trip and a
//! millisecond, however wrong its machine counts time and whatever its wall clock was set to.

use std::time::Duration;

use crate::sim::history::{History, Reading};

/// How long after the healing every node has heard its leader's time.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// Two round trips of a simulation, each of two ways of 3 ms and the turns at both ends, and a millisecond.
const SKEW_US_MAX: u64 = 2 * 10_000 + 1_000;

pub(super) fn check(history: &History) -> Result<(), String> {
    let is_quiet = |readings: &&Vec<Reading>| {
        readings.first().is_some_and(|reading| reading.at > history.healed_at + HEARD_WITHIN)
    };
    for readings in history.readings.iter().filter(is_quiet) {
        let leader = readings.iter().filter(|reading| reading.leads.is_some()).max_by_key(|reading| reading.leads);
        let Some(leader) = leader else { continue };
        let followers =
            readings.iter().filter(|reading| reading.leader == Some(leader.node) && reading.leads.is_none());
        for follower in followers {
            let apart_us = follower.shows_us.abs_diff(leader.shows_us);
            let owned_to_us = follower.deviation.behind_us.unsigned_abs();
            if apart_us > owned_to_us + SKEW_US_MAX {
                return Err(format!(
                    "{:?}: node {} is {apart_us} us from node {}, which leads, and says {owned_to_us}",
                    leader.at, follower.node, leader.node
                ));
            }
        }
    }
    Ok(())
}
