//! A rules document as it travels between nodes: deflated, so that even a long one is sent within a heartbeat.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use tallyring_protocol::bounds::RULES_BYTES_MAX;

use crate::rules::text::Text;

/// Longest packed document, in bytes: what a link of 1 Gbit/s carries in 8 ms. Ten thousand rules are a tenth of it.
pub const PACKED_BYTES_MAX: usize = 1 << 20;

/// A document, packed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Packed(Vec<u8>);

/// A document that is too long, even packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("document: {bytes} bytes after compression, at most {PACKED_BYTES_MAX} travel between nodes")]
pub struct TooLong {
    /// Its length when packed, in bytes.
    pub bytes: usize,
}

impl Packed {
    /// Packs a document.
    ///
    /// # Errors
    /// [`TooLong`]: it hardly repeats itself, as rules do.
    pub fn new(text: &Text) -> Result<Packed, TooLong> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(text.as_str().as_bytes()).and_then(|()| encoder.finish());
        let packed = packed.expect("memory takes whatever is written");
        if packed.len() > PACKED_BYTES_MAX { Err(TooLong { bytes: packed.len() }) } else { Ok(Packed(packed)) }
    }

    /// The document; `None` if the bytes are none, or promise more than any document has.
    pub fn unpack(&self) -> Option<Text> {
        if self.0.len() > PACKED_BYTES_MAX {
            return None;
        }
        let mut text = String::new();
        DeflateDecoder::new(&self.0[..]).take(RULES_BYTES_MAX as u64 + 1).read_to_string(&mut text).ok()?;
        (text.len() <= RULES_BYTES_MAX).then(|| text.into())
    }
}

impl std::fmt::Debug for Packed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Packed({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_the_same_after_its_journey() {
        for text in ["", "[[rule]]\n# käse\n", &"id = \"x\"\n".repeat(10_000)] {
            let packed = Packed::new(&text.to_owned().into()).unwrap();
            assert_eq!(packed.unpack().unwrap().as_str(), text);
        }
    }

    #[test]
    fn bytes_that_are_no_document_or_promise_too_much_are_none() {
        assert_eq!(Packed(vec![0xFF; 9]).unpack(), None);
        assert_eq!(Packed(vec![0; PACKED_BYTES_MAX + 1]).unpack(), None);
        let bomb = Packed::new(&"x".repeat(RULES_BYTES_MAX + 1).into()).unwrap();
        assert_eq!(bomb.unpack(), None);
    }
}
