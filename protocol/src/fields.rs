//! Reading a body field by field. Every read names its field, so that an error can.

/// A body that does not say what its kind needs: which field, and what was allowed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Malformed {
    /// The name of the field, as `docs/protocol.md` names it.
    pub field: &'static str,
    /// What is wrong with it and what is allowed.
    pub reason: &'static str,
}

impl Malformed {
    /// `field` is wrong for this `reason`.
    pub const fn new(field: &'static str, reason: &'static str) -> Malformed {
        Malformed { field, reason }
    }
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

/// Appends a text behind its two-byte length, cut to `max` bytes at a character boundary.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str, max: usize) {
    let cut = text.floor_char_boundary(max);
    let len = u16::try_from(cut).expect("every text bound fits two bytes");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&text.as_bytes()[..cut]);
}
