//! When a batch was read, as order and not as time.

/// The place of a batch in all that is ever said about a key: newer replaces older.
///
/// Epochs come from whoever says who owns a key; within an epoch one engine speaks for it, and counts its batches.
///
/// ```
/// use tallyring_engine::Version;
/// let before = Version { epoch: 4, sequence: 900 };
/// assert!(Version { epoch: 5, sequence: 1 } > before); // another owner took over
/// assert!(before > Version::NONE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The reign: grows whenever a key may have changed hands, or its owner started anew.
    pub epoch: u64,
    /// The batch within the reign, counted from 1.
    pub sequence: u64,
}

impl Version {
    /// Older than every batch.
    pub const NONE: Version = Version { epoch: 0, sequence: 0 };

    /// The batch after this one, of the same engine.
    pub(crate) fn next(self) -> Version {
        Version { sequence: self.sequence + 1, ..self }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.epoch, self.sequence)
    }
}
