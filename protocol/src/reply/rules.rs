//! The rules document of a store, and the news that there is another.

use std::borrow::Cow;

use crate::bounds::{HEADER_BYTES, RULES_BYTES_MAX};
use crate::code::Kind;
use crate::fields::{Fields, Malformed};
use crate::frame;
use crate::rules::RulesVersion;

impl RulesVersion {
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

    /// What follows the header of a frame with these rules: the same for everybody who asks, so a store writes it once.
    ///
    /// ```
    /// use tallyring_protocol::reply::Rules;
    /// use tallyring_protocol::rules::RulesVersion;
    /// use tallyring_protocol::{Reply, frame};
    /// let rules = Rules { version: RulesVersion { lineage: 1, version: 2 }, json: b"{}".as_slice().into() };
    /// let body = rules.to_body();
    /// let bytes = [&Rules::header(7, &body)[..], &body].concat();
    /// let (frame, _) = frame::split(&bytes, 1024)?.expect("a whole frame");
    /// assert_eq!((Reply::decode(&frame)?, frame.id), (Reply::Rules(rules), 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the document is empty or too long: nobody would read the frame.
    pub fn to_body(&self) -> Vec<u8> {
        assert!((1..=RULES_BYTES_MAX).contains(&self.json.len()), "a document has 1 ..= RULES_BYTES_MAX bytes");
        let mut body = Vec::with_capacity(16 + self.json.len());
        self.version.put(&mut body);
        body.extend_from_slice(&self.json);
        body
    }

    /// The header of the frame that answers the request with this id, to go before a [body](Rules::to_body).
    pub fn header(id: u32, body: &[u8]) -> [u8; HEADER_BYTES] {
        frame::header(Kind::Rules, 0, 0, id, body.len())
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        let body = self.to_body();
        out.extend_from_slice(&Rules::header(id, &body));
        out.extend_from_slice(&body);
    }
}
