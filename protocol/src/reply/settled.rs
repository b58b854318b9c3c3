//! The answer to a settle.

use crate::code::Kind;
use crate::fields::{Fields, Malformed};
use crate::frame;

/// Flag: the reservation was there, and what its key has left follows.
const SETTLED: u8 = 1;

/// How the key stands behind the correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Whole units left.
    pub remaining: u64,
    /// The smallest wait after which the whole budget is free again, in microseconds.
    pub reset_after_us: u64,
}

/// Reads the answer; `None` if there was nothing to settle.
pub(super) fn decode(flags: u8, fields: &mut Fields<'_>) -> Result<Option<Settled>, Malformed> {
    if flags & SETTLED == 0 {
        return Ok(None);
    }
    Ok(Some(Settled { remaining: fields.u64("remaining")?, reset_after_us: fields.u64("reset_after_us")? }))
}

pub(super) fn encode(settled: Option<Settled>, id: u32, out: &mut Vec<u8>) {
    let flags = if settled.is_some() { SETTLED } else { 0 };
    frame::put(out, Kind::Settled, flags, 0, id, |out| {
        if let Some(Settled { remaining, reset_after_us }) = settled {
            out.extend_from_slice(&remaining.to_le_bytes());
            out.extend_from_slice(&reset_after_us.to_le_bytes());
        }
    });
}
