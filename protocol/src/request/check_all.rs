//! Several checks as one request: all are charged, or none.

use super::{Charge, FORCE};
use crate::fields::{Fields, Malformed, put_bytes};
use crate::key::KeyRef;
use crate::parts;

/// The checks of a `check_all`, as they stand in its frame: a count, then each part.
///
/// ```
/// use tallyring_protocol::{Charge, Key, Parts};
/// let key = Key::raw(b"{acct_7}:minute").unwrap();
/// let charge = Charge { handle: 3, cost: 1, keep: 0, force: false, key: key.as_ref() };
/// let block = Parts::encode([charge, Charge { handle: 4, ..charge }]);
/// let parts = Parts::from_block(&block)?;
/// assert_eq!(parts.iter().map(|part| part.handle).collect::<Vec<_>>(), [3, 4]);
/// # Ok::<(), tallyring_protocol::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    block: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Reads a block of parts, which must end with `block`.
    ///
    /// # Errors
    /// [`Malformed`] names the first bad field, and its part if it is of one.
    pub fn from_block(block: &'a [u8]) -> Result<Parts<'a>, Malformed> {
        parts::check(block, decode_part)?;
        Ok(Parts { block })
    }

    /// The block of these parts.
    ///
    /// # Panics
    /// If there are none, or more than [`PARTS_MAX`](crate::bounds::PARTS_MAX): nobody would read the frame.
    pub fn encode<'b>(parts: impl IntoIterator<Item = Charge<'b>>) -> Vec<u8> {
        parts::encode(parts, put_part)
    }

    /// The parts, in their order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Charge<'a>> {
        parts::iter(self.block, decode_part)
    }

    /// The parts as they stand in a frame.
    pub fn block(self) -> &'a [u8] {
        self.block
    }
}

fn decode_part<'a>(fields: &mut Fields<'a>) -> Result<Charge<'a>, Malformed> {
    let handle = fields.u16("handle")?;
    let flags = fields.u8("flags")?;
    let cost = fields.u64("cost")?;
    let keep = fields.u64("keep")?;
    let key_len = usize::from(fields.u16("key")?);
    let key = KeyRef::from_block(fields.bytes("key", key_len)?)?;
    Ok(Charge { handle, cost, keep, force: flags & FORCE != 0, key })
}

fn put_part(part: &Charge<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&part.handle.to_le_bytes());
    out.push(if part.force { FORCE } else { 0 });
    out.extend_from_slice(&part.cost.to_le_bytes());
    out.extend_from_slice(&part.keep.to_le_bytes());
    put_bytes(out, part.key.block());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{HEADER_BYTES, KEY_BYTES_MAX, PARTS_MAX, REQUEST_BYTES_MAX};
    use crate::key::Key;

    fn check_bad(block: &[u8], path: &str) {
        assert_eq!(Parts::from_block(block).unwrap_err().path(), path, "{block:?}");
    }

    #[test]
    fn the_first_bad_field_is_named_with_its_part() {
        let key = Key::raw(b"k").unwrap();
        let part = Charge { handle: 0, cost: 1, keep: 0, force: false, key: key.as_ref() };
        let good = Parts::encode([part, part]);
        let second = 1 + (good.len() - 1) / 2;
        check_bad(&[], "parts");
        check_bad(&[0], "parts");
        check_bad(&[17], "parts");
        check_bad(&[1], "checks[0].handle");
        for (len, field) in [(1, "handle"), (2, "flags"), (10, "cost"), (18, "keep"), (20, "key"), (22, "key")] {
            check_bad(&good[..second + len], &format!("checks[1].{field}"));
        }
        check_bad(&[&good[..], &[0]].concat(), "body");
    }

    #[test]
    fn sixteen_of_the_longest_keys_fit_one_frame() {
        let key = Key::new(&[1; KEY_BYTES_MAX], &[2; KEY_BYTES_MAX]).unwrap();
        let part = Charge { handle: 9, cost: 1, keep: 2, force: true, key: key.as_ref() };
        let block = Parts::encode([part; PARTS_MAX]);
        assert!(HEADER_BYTES + block.len() <= REQUEST_BYTES_MAX);
        assert!(Parts::from_block(&block).unwrap().iter().eq([part; PARTS_MAX]));
    }
}
