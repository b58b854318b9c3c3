//! The answer to a release.

use crate::code::Kind;
use crate::fields::{Fields, Malformed};
use crate::frame;

/// Flag: the holder held something.
const RELEASED: u8 = 1;

/// How a key's slots stand behind a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Whether the holder held something.
    pub released: bool,
    /// Units held now.
    pub in_use: u64,
}

impl Released {
    pub(super) fn decode(flags: u8, fields: &mut Fields<'_>) -> Result<Released, Malformed> {
        Ok(Released { released: flags & RELEASED != 0, in_use: fields.u64("in_use")? })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::Released, if self.released { RELEASED } else { 0 }, 0, id, |out| {
            out.extend_from_slice(&self.in_use.to_le_bytes());
        });
    }
}
