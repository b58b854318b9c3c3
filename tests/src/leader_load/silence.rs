//! A time in which a node heard of no leader.

use std::time::Duration;

/// What the cluster was going through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It came together: nothing counts.
    Start,
    /// Nobody did anything to it.
    Alone,
    /// Its leader was killed, and is away.
    Killed,
    /// Who was killed comes back.
    Back,
}

/// A time in which a node heard of no leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When it ended.
    pub phase: Phase,
    /// Who heard nothing.
    pub node: u16,
    /// How long.
    pub lasted: Duration,
    /// The how-manieth leader ended it.
    pub term: u64,
    /// Whether that was another one than before.
    pub is_another: bool,
}

impl Silence {
    /// What a line of a node's log tells of one, if it does.
    pub(super) fn read(line: &str, node: u16, phase: Phase) -> Option<Silence> {
        let said: serde_json::Value = serde_json::from_str(line).ok()?;
        let fields = &said["fields"];
        let lasted = Duration::from_millis(fields["silent_ms"].as_u64()?);
        let (term, is_another) = (fields["term"].as_u64()?, fields["is_another"].as_bool()?);
        Some(Silence { phase, node, lasted, term, is_another })
    }
}
