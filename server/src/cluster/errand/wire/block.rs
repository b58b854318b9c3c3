//! A few bytes, as they are: most need no allocation.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// Bytes that a block holds in place: most keys, and every decision.
const IN_PLACE_BYTES: usize = 64;

/// Some bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Block(pub(in super::super) SmallVec<[u8; IN_PLACE_BYTES]>);

impl From<&[u8]> for Block {
    fn from(bytes: &[u8]) -> Block {
        Block(SmallVec::from_slice(bytes))
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Block, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Block;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Block, E> {
                Ok(Block::from(bytes))
            }
        }
        from.deserialize_bytes(Bytes)
    }
}
