//! The rules document of a store, and the news that there is another.

use std::borrow::Cow;

use crate::bounds::RULES_BYTES_MAX;
use crate::code::Kind;
use crate::fields::{Fields, Malformed};
use crate::frame;

/// Which rules: a later document of the same store is greater, and so is any document of a store whose rules began later.
///
/// ```
/// use tallyring_protocol::reply::RulesVersion;
/// let [first, second] = [1, 2].map(|version| RulesVersion { lineage: 1_700_000_000_000_000, version });
/// let elsewhere = RulesVersion { lineage: 1_800_000_000_000_000, version: 1 };
/// assert!(RulesVersion::NONE < first && first < second && second < elsewhere);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RulesVersion {
    /// The instant at which the history of the store's rules began, in microseconds since the Unix epoch; 0 = it has none.
    ///
    /// A store that has lost its history begins another one, whose documents are newer than all of the lost.
    pub lineage: u64,
    /// The document's number in that history: 1, 2, 3 …
    pub version: u64,
}

impl RulesVersion {
    /// The version of a store that was never given rules.
    pub const NONE: RulesVersion = RulesVersion { lineage: 0, version: 0 };

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<RulesVersion, Malformed> {
        Ok(RulesVersion { lineage: fields.u64("lineage")?, version: fields.u64("version")? })
    }

    pub(super) fn encode(self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::RulesVersion, 0, 0, id, |out| self.put(out));
    }

    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.lineage.to_le_bytes());
        out.extend_from_slice(&self.version.to_le_bytes());
    }
}

/// A rules document, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules<'a> {
    /// Which it is.
    pub version: RulesVersion,
    /// The document as JSON, at most [`RULES_BYTES_MAX`] bytes and never empty.
    pub json: Cow<'a, [u8]>,
}

impl<'a> Rules<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Rules<'a>, Malformed> {
        let (version, json) = (RulesVersion::decode(fields)?, fields.rest());
        if !(1..=RULES_BYTES_MAX).contains(&json.len()) {
            return Err(Malformed::new("json", "a document of 1 ..= 4,194,304 bytes"));
        }
        Ok(Rules { version, json: Cow::Borrowed(json) })
    }

    /// # Panics
    /// If the document is empty or too long: nobody would read the frame.
    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        assert!((1..=RULES_BYTES_MAX).contains(&self.json.len()), "a document has 1 ..= RULES_BYTES_MAX bytes");
        out.reserve(self.json.len() + 28);
        frame::put(out, Kind::Rules, 0, 0, id, |out| {
            self.version.put(out);
            out.extend_from_slice(&self.json);
        });
    }
}
