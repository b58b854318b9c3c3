//! Units that are held for a time, and come back by themselves if their holder dies.

use crate::code::Kind;
use crate::fields::{Fields, Malformed, put_name};
use crate::frame::{self, Frame};
use crate::key::KeyRef;

/// The body of an acquire. It brings its numbers with it and needs no handle: it is rare next to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquire<'a> {
    /// Units that all holders of the key may hold at the same time, at least 1.
    pub limit: u64,
    /// How long this holder holds them, in microseconds: 1 up to 400 days. The same holder again renews.
    pub ttl_us: u64,
    /// Units to hold, at least 1.
    pub cost: u64,
    /// Who holds them, of 1 ..= 128 bytes; holders belong to the key.
    pub holder: &'a [u8],
    /// What is held.
    pub key: KeyRef<'a>,
}

impl<'a> Acquire<'a> {
    pub(super) fn decode(frame: &Frame<'a>) -> Result<Acquire<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let limit = fields.u64("limit")?;
        let ttl_us = fields.u64("ttl_us")?;
        let cost = fields.u64("cost")?;
        let holder = fields.name("holder")?;
        let key = KeyRef::from_block(fields.rest())?;
        Ok(Acquire { limit, ttl_us, cost, holder, key })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::Acquire, 0, 0, id, |out| {
            out.extend_from_slice(&self.limit.to_le_bytes());
            out.extend_from_slice(&self.ttl_us.to_le_bytes());
            out.extend_from_slice(&self.cost.to_le_bytes());
            put_name(out, self.holder);
            out.extend_from_slice(self.key.block());
        });
    }
}
