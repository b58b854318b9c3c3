//! A check whose units can be corrected once, by a settle.

use super::{Charge, FORCE};
use crate::code::Kind;
use crate::fields::{Fields, Malformed, put_name};
use crate::frame::{self, Frame};
use crate::key::KeyRef;

/// The body of a reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve<'a> {
    /// What is charged until it is settled; the cost is at least 1.
    pub charge: Charge<'a>,
    /// How long it can be settled, in microseconds: 1 up to a day.
    pub ttl_us: u64,
    /// What the settle will name, of 1 ..= 128 bytes; ids belong to the key. The same id again, while it is live, repeats
    /// the first decision and charges nothing.
    pub id: &'a [u8],
}

impl<'a> Reserve<'a> {
    pub(super) fn decode(frame: &Frame<'a>) -> Result<Reserve<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let cost = fields.u64("cost")?;
        let keep = fields.u64("keep")?;
        let ttl_us = fields.u64("ttl_us")?;
        let id = fields.name("id")?;
        let key = KeyRef::from_block(fields.rest())?;
        let charge = Charge { handle: frame.handle, cost, keep, force: frame.flags & FORCE != 0, key };
        Ok(Reserve { charge, ttl_us, id })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        let Charge { handle, cost, keep, force, key } = self.charge;
        frame::put(out, Kind::Reserve, if force { FORCE } else { 0 }, handle, id, |out| {
            out.extend_from_slice(&cost.to_le_bytes());
            out.extend_from_slice(&keep.to_le_bytes());
            out.extend_from_slice(&self.ttl_us.to_le_bytes());
            put_name(out, self.id);
            out.extend_from_slice(key.block());
        });
    }
}
