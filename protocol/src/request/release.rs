//! The end of a hold before its time.

use crate::code::Kind;
use crate::fields::{Fields, Malformed, put_name};
use crate::frame::{self, Frame};
use crate::key::KeyRef;

/// The body of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'a> {
    /// Who holds, of 1 ..= 128 bytes.
    pub holder: &'a [u8],
    /// What is held.
    pub key: KeyRef<'a>,
}

impl<'a> Release<'a> {
    pub(super) fn decode(frame: &Frame<'a>) -> Result<Release<'a>, Malformed> {
        let mut fields = Fields::new(frame.body);
        let holder = fields.name("holder")?;
        let key = KeyRef::from_block(fields.rest())?;
        Ok(Release { holder, key })
    }

    pub(super) fn encode(&self, id: u32, out: &mut Vec<u8>) {
        frame::put(out, Kind::Release, 0, 0, id, |out| {
            put_name(out, self.holder);
            out.extend_from_slice(self.key.block());
        });
    }
}
