//! The answer to a `check_all`: each part's decision, and what they come to.

use std::borrow::Cow;

use super::{ALLOWED, Decision};
use crate::code::Kind;
use crate::fields::{Fields, Malformed};
use crate::frame;
use crate::parts;

/// What several checks come to together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedAll<'a> {
    /// Whether every part was allowed. If not, none was charged.
    pub allowed: bool,
    /// The longest wait of the parts that were refused, in microseconds;
    /// [`WAIT_NEVER_US`](crate::bounds::WAIT_NEVER_US) if no wait would do, a lower bound if a key was named twice.
    pub retry_after_us: u64,
    /// The instant of the decisions, in microseconds of the store's clock: a refund names it.
    pub at_us: u64,
    /// What was decided of each part.
    pub checks: Decisions<'a>,
}

impl<'a> CheckedAll<'a> {
    /// Each part's decision, in the order of the parts.
    pub fn decisions(&self) -> impl ExactSizeIterator<Item = Decision> {
        let at_us = self.at_us;
        self.checks.iter().map(move |decision| Decision { at_us, ..decision })
    }

    pub(super) fn decode(flags: u8, fields: &mut Fields<'a>) -> Result<CheckedAll<'a>, Malformed> {
        Ok(CheckedAll {
            allowed: flags & ALLOWED != 0,
            retry_after_us: fields.u64("retry_after_us")?,
            at_us: fields.u64("at_us")?,
            checks: Decisions::from_block(fields.rest())?,
        })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::CheckedAll, if self.allowed { ALLOWED } else { 0 }, 0, id, |out| {
            out.extend_from_slice(&self.retry_after_us.to_le_bytes());
            out.extend_from_slice(&self.at_us.to_le_bytes());
            out.extend_from_slice(&self.checks.0);
        });
    }
}

/// One to [`PARTS_MAX`](crate::bounds::PARTS_MAX) decisions as they stand in a frame: a count, then each without the instant, which they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decisions<'a>(Cow<'a, [u8]>);

impl<'a> Decisions<'a> {
    /// Writes decisions down.
    ///
    /// # Panics
    /// If there are none, or more than [`PARTS_MAX`](crate::bounds::PARTS_MAX): nobody would read the frame.
    pub fn new(decisions: impl IntoIterator<Item = Decision>) -> Decisions<'static> {
        Decisions(Cow::Owned(parts::encode(decisions, put_part)))
    }

    fn from_block(block: &'a [u8]) -> Result<Decisions<'a>, Malformed> {
        parts::check(block, decode_part)?;
        Ok(Decisions(Cow::Borrowed(block)))
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = Decision> {
        parts::iter(&self.0, decode_part)
    }

    /// The decisions as they stand in a frame.
    pub fn block(&self) -> &[u8] {
        &self.0
    }
}

fn put_part(decision: &Decision, out: &mut Vec<u8>) {
    out.push(decision.flags());
    let numbers = [decision.remaining, decision.retry_after_us, decision.reset_after_us];
    for number in numbers.into_iter().chain(decision.optional()) {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// A part's decision, at instant 0: [`CheckedAll::decisions`] says the right one.
fn decode_part(fields: &mut Fields<'_>) -> Result<Decision, Malformed> {
    let flags = fields.u8("flags")?;
    let [remaining, retry_after_us, reset_after_us] =
        [fields.u64("remaining")?, fields.u64("retry_after_us")?, fields.u64("reset_after_us")?];
    Decision { allowed: false, remaining, retry_after_us, reset_after_us, at_us: 0, charged: None, delay_us: None }
        .with_optional(flags, fields)
}
