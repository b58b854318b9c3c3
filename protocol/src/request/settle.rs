//! The correction of a reserve to what was used.

use crate::code::Kind;
use crate::fields::{Fields, Malformed, put_name};
use crate::frame::{self, Frame};
use crate::key::KeyRef;

/// The body of a settle. It names no limit: the reservation knows its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle<'a> {
    /// Units that were used, more or fewer than were reserved.
    pub actual: u64,
    /// The reservation, of 1 ..= 128 bytes.
    pub id: &'a [u8],
    /// Whose budget.
    pub key: KeyRef<'a>,
}

impl<'a> Settle<'a> {
    pub(super) fn decode(frame: &Frame<'a>) -> Result<Settle<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let actual = fields.u64("actual")?;
        let id = fields.name("id")?;
        let key = KeyRef::from_block(fields.rest())?;
        Ok(Settle { actual, id, key })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::Settle, 0, 0, id, |out| {
            out.extend_from_slice(&self.actual.to_le_bytes());
            put_name(out, self.id);
            out.extend_from_slice(self.key.block());
        });
    }
}
