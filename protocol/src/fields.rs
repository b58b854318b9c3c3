//! Reading a body field by field. Every read names its field, so that an error can.

use std::borrow::Cow;

use crate::bounds::{NAME_BYTES_MAX, RULE_ID_BYTES_MAX};

/// A body that does not say what its kind needs: which field, and what was allowed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", self.path())]
pub struct Malformed {
    /// The name of the field, as `docs/protocol.md` names it.
    pub field: &'static str,
    /// The part of a `check_all` that the field is of, counted from 0; `None` = of none.
    pub part: Option<u8>,
    /// What is wrong with it and what is allowed.
    pub reason: &'static str,
}

impl Malformed {
    /// `field` is wrong for this `reason`.
    pub const fn new(field: &'static str, reason: &'static str) -> Malformed {
        Malformed { field, part: None, reason }
    }

    /// The same, in a part of a `check_all`.
    pub const fn of_part(self, part: u8) -> Malformed {
        Malformed { part: Some(part), ..self }
    }

    /// The field, and where it is.
    ///
    /// ```
    /// use tallyring_protocol::Malformed;
    /// let malformed = Malformed::new("key", "the frame ends before it");
    /// assert_eq!(malformed.path(), "key");
    /// assert_eq!(malformed.of_part(1).path(), "checks[1].key");
    /// ```
    pub fn path(&self) -> Cow<'static, str> {
        path_of(self.field, self.part)
    }
}

/// A field's name with the part of a `check_all` that it is of: `cost`, or `checks[1].cost`.
pub fn path_of(field: &'static str, part: Option<u8>) -> Cow<'static, str> {
    part.map_or(Cow::Borrowed(field), |part| Cow::Owned(format!("checks[{part}].{field}")))
}

/// What is left of a body.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(body: &'a [u8]) -> Fields<'a> {
        Fields(body)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(Malformed::new(field, "the frame ends before it"))?;
        self.0 = tail;
        Ok(*head)
    }

    #[inline]
    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        Ok(self.array::<1>(field)?[0])
    }

    #[inline]
    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    #[inline]
    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    #[inline]
    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// A byte string of `len` bytes.
    pub(crate) fn bytes(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(Malformed::new(field, "the frame ends inside it"))?;
        self.0 = tail;
        Ok(head)
    }

    /// A UTF-8 text behind its two-byte length, of at most `max` bytes.
    pub(crate) fn text(&mut self, field: &'static str, max: usize) -> Result<&'a str, Malformed> {
        let len = usize::from(self.u16(field)?);
        if len > max {
            return Err(Malformed::new(field, "longer than allowed"));
        }
        std::str::from_utf8(self.bytes(field, len)?).map_err(|_| Malformed::new(field, "not UTF-8"))
    }

    /// The id of a rule, without blanks, as in a document; empty = of no rule.
    pub(crate) fn rule_id(&mut self, field: &'static str) -> Result<&'a str, Malformed> {
        let id = self.text(field, RULE_ID_BYTES_MAX)?;
        let is_good = !id.contains(|c: char| c.is_whitespace() || c.is_control());
        is_good.then_some(id).ok_or(Malformed::new(field, "a rule's id has no blanks"))
    }

    /// One to [`NAME_BYTES_MAX`] bytes behind their two-byte length: a reservation's id, a holder's name.
    pub(crate) fn name(&mut self, field: &'static str) -> Result<&'a [u8], Malformed> {
        let len = usize::from(self.u16(field)?);
        if !(1..=NAME_BYTES_MAX).contains(&len) {
            return Err(Malformed::new(field, "1 ..= 128 bytes"));
        }
        self.bytes(field, len)
    }

    /// All that is left.
    #[inline]
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Says that the body ends here. Bytes behind the last field are an error: they would be somebody's misunderstanding.
    #[inline]
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::new("body", "bytes follow its last field")) }
    }
}

/// Appends a name behind its two-byte length.
///
/// # Panics
/// If it is empty or longer than [`NAME_BYTES_MAX`]: nobody would read the frame.
pub(crate) fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    assert!((1..=NAME_BYTES_MAX).contains(&name.len()), "a name has 1 ..= 128 bytes: {}", name.len());
    put_bytes(out, name);
}

/// Appends bytes behind their two-byte length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u16::try_from(bytes.len()).expect("whatever has a two-byte length is bounded far below 65,536 bytes");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a text behind its two-byte length, cut to `max` bytes at a character boundary.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str, max: usize) {
    put_bytes(out, &text.as_bytes()[..text.floor_char_boundary(max)]);
}
