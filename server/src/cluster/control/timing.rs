//! How long the control plane waits for what.

use std::time::Duration;

/// Its clocks. Tests and simulations have others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A leader says so often that it is one; so long it waits for an answer.
    pub heartbeat: Duration,
    /// A follower that hears of none for so long, at least, stands for election …
    pub election_min: Duration,
    /// … and so long at most. Twice this after a leader's end there is another one.
    pub election_max: Duration,
    /// How long who proposes a change waits before it tries again.
    pub retry: Duration,
    /// How long a change may take before its author is told that nobody knows.
    pub proposal: Duration,
}

impl Default for Timing {
    /// Heartbeats every 30 ms, elections after 100 to 180 ms, as openraft counts them: it looks at its clocks every one and a
    /// half heartbeats, and lets the longest election pass before a follower's own begins, so that a leader has to be
    /// silent for 280 to 405 ms.
    fn default() -> Timing {
        Timing {
            heartbeat: Duration::from_millis(30),
            election_min: Duration::from_millis(100),
            election_max: Duration::from_millis(180),
            retry: Duration::from_millis(50),
            proposal: Duration::from_secs(5),
        }
    }
}

/// Changes after which a node takes a snapshot of the state.
const CHANGES_PER_SNAPSHOT: u64 = 1_000;

/// Changes that stay in the log behind a snapshot, for who is a little behind.
const CHANGES_KEPT: u64 = 100;

/// Changes that are sent at once; their bytes are bounded besides.
const CHANGES_PER_CALL_MAX: u64 = 64;

/// Bytes of a snapshot that are sent at once.
const SNAPSHOT_PIECE_BYTES: u64 = 1 << 20;

/// How long a piece of a snapshot may take.
const SNAPSHOT_PIECE_TIMEOUT: Duration = Duration::from_secs(2);

impl Timing {
    /// What openraft is told.
    ///
    /// # Panics
    /// If the times contradict each other: they are the program's own.
    pub fn raft_config(&self) -> openraft::Config {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).expect("a few seconds at most");
        let config = openraft::Config {
            cluster_name: "tallyring".to_owned(),
            heartbeat_interval: ms(self.heartbeat),
            election_timeout_min: ms(self.election_min),
            election_timeout_max: ms(self.election_max),
            install_snapshot_timeout: ms(SNAPSHOT_PIECE_TIMEOUT),
            snapshot_max_chunk_size: SNAPSHOT_PIECE_BYTES,
            snapshot_policy: openraft::SnapshotPolicy::LogsSinceLast(CHANGES_PER_SNAPSHOT),
            max_in_snapshot_log_to_keep: CHANGES_KEPT,
            max_payload_entries: CHANGES_PER_CALL_MAX,
            ..openraft::Config::default()
        };
        config.validate().expect("a heartbeat is shorter than an election")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_those_that_operators_are_promised() {
        let config = Timing::default().raft_config();
        assert_eq!(
            (config.heartbeat_interval, config.election_timeout_min, config.election_timeout_max),
            (30, 100, 180)
        );
    }
}
