//! Which rules document somebody has.

/// Names one version of one store's rules; greater is newer.
///
/// A store counts its versions 1, 2, 3 …; its *lineage* tells them from those of a store that began again, whose counting
/// did too: its documents are newer than all of the lost ones.
///
/// ```
/// use tallyring_protocol::rules::RulesVersion;
/// let [first, second] = [1, 2].map(|version| RulesVersion { lineage: 1_700_000_000_000_000, version });
/// let elsewhere = RulesVersion { lineage: 1_800_000_000_000_000, version: 1 };
/// assert!(RulesVersion::NONE < first && first < second && second < elsewhere);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RulesVersion {
    /// When the store's history of rules began, in microseconds since the Unix epoch; 0 = none.
    pub lineage: u64,
    /// Which document of that history; 0 = none.
    pub version: u64,
}

impl RulesVersion {
    /// No store's rules: what a gateway was built with.
    pub const NONE: RulesVersion = RulesVersion { lineage: 0, version: 0 };
}
