//! The answer to an acquire.

use super::ALLOWED;
use crate::code::Kind;
use crate::fields::{Fields, Malformed};
use crate::frame;

/// How a key's slots stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Whether the holder holds what it asked for.
    pub allowed: bool,
    /// Units held now, this call's included.
    pub in_use: u64,
    /// The smallest wait after which the same call would pass if nobody released earlier, in microseconds;
    /// [`WAIT_NEVER_US`](crate::bounds::WAIT_NEVER_US) if none would do.
    pub retry_after_us: u64,
    /// The instant of the decision, in microseconds of the store's clock: the hold lasts from here for its time to live.
    pub at_us: u64,
}

impl Slots {
    pub(super) fn decode(flags: u8, fields: &mut Fields<'_>) -> Result<Slots, Malformed> {
        Ok(Slots {
            allowed: flags & ALLOWED != 0,
            in_use: fields.u64("in_use")?,
            retry_after_us: fields.u64("retry_after_us")?,
            at_us: fields.u64("at_us")?,
        })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::Slots, if self.allowed { ALLOWED } else { 0 }, 0, id, |out| {
            for number in [self.in_use, self.retry_after_us, self.at_us] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        });
    }
}
