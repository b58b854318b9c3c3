//! Where a frame begins and ends.
//!
//! ```text
//!  0        4      5       6        8            12
//!  ┌────────┬──────┬───────┬────────┬────────────┬──────
//!  │ length │ kind │ flags │ handle │ request id │ body …
//!  └────────┴──────┴───────┴────────┴────────────┴──────
//! ```
//! `length` counts the whole frame, itself included. `handle` names a defined limit where the kind has one, else 0.
//! A reply carries the id of its request; a push carries id 0.

use crate::bounds::HEADER_BYTES;

/// One frame, borrowed from the bytes it arrived in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The number of a [`Kind`](crate::Kind); it may be unknown.
    pub kind: u8,
    /// Meaning depends on the kind.
    pub flags: u8,
    /// A limit defined on this connection, where the kind has one.
    pub handle: u16,
    /// Chosen by the client, repeated by the reply.
    pub id: u32,
    /// What follows the header.
    pub body: &'a [u8],
}

/// A length that no frame can have: the stream cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("length: {len} is not in {HEADER_BYTES} ..= {max}")]
pub struct FrameError {
    /// The length that came, in bytes.
    pub len: u32,
    /// The longest frame allowed here, in bytes.
    pub max: usize,
}

/// Splits the first frame off `bytes` and says how many bytes it takes; `None` if it has not arrived whole yet.
///
/// `len_max` is the longest frame allowed, in bytes: a longer one is refused as soon as its length can be read, so that
/// nobody waits for, or makes room for, four gigabytes.
///
/// ```
/// use tallyring_protocol::frame;
/// let ping = [12, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0];
/// assert_eq!(frame::split(&ping[..11], 1024), Ok(None));
/// let (frame, taken) = frame::split(&ping, 1024).unwrap().unwrap();
/// assert_eq!((frame.kind, frame.id, taken), (3, 7, 12));
/// assert!(frame::split(&[0xFF; 4], 1024).is_err());
/// ```
#[inline]
pub fn split(bytes: &[u8], len_max: usize) -> Result<Option<(Frame<'_>, usize)>, FrameError> {
    let Some(length) = bytes.first_chunk::<4>() else { return Ok(None) };
    let len = u32::from_le_bytes(*length) as usize;
    if len < HEADER_BYTES || len > len_max {
        return Err(FrameError { len: u32::from_le_bytes(*length), max: len_max });
    }
    let Some((header, body)) = bytes.get(..len).and_then(|frame| frame.split_first_chunk::<HEADER_BYTES>()) else {
        return Ok(None);
    };
    let [_, _, _, _, kind, flags, h0, h1, id @ ..] = *header;
    Ok(Some((Frame { kind, flags, handle: u16::from_le_bytes([h0, h1]), id: u32::from_le_bytes(id), body }, len)))
}

/// The twelve bytes before a body of `body_len` bytes.
#[inline]
pub(crate) fn header(kind: crate::Kind, flags: u8, handle: u16, id: u32, body_len: usize) -> [u8; HEADER_BYTES] {
    let len = u32::try_from(HEADER_BYTES + body_len).expect("bodies are bounded far below four gigabytes");
    let [l0, l1, l2, l3] = len.to_le_bytes();
    let [h0, h1] = handle.to_le_bytes();
    let [i0, i1, i2, i3] = id.to_le_bytes();
    [l0, l1, l2, l3, kind as u8, flags, h0, h1, i0, i1, i2, i3]
}

/// Appends a frame whose body `write` appends; the length is filled in afterwards.
pub(crate) fn put(
    out: &mut Vec<u8>,
    kind: crate::Kind,
    flags: u8,
    handle: u16,
    id: u32,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&header(kind, flags, handle, id, 0));
    write(out);
    let len = u32::try_from(out.len() - start).expect("bodies are bounded far below four gigabytes");
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expect: Result<Option<usize>, FrameError>) {
        assert_eq!(split(bytes, 64).map(|found| found.map(|(_, taken)| taken)), expect, "{bytes:?}");
    }

    #[test]
    fn a_frame_that_has_not_arrived_whole_is_no_error() {
        check(&[], Ok(None));
        check(&[12, 0, 0], Ok(None));
        check(&[12, 0, 0, 0, 1, 2, 3], Ok(None));
        check(&[13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], Ok(None));
    }

    #[test]
    fn an_impossible_length_is_refused_before_the_rest_arrives() {
        check(&[11, 0, 0, 0], Err(FrameError { len: 11, max: 64 }));
        check(&[65, 0, 0, 0], Err(FrameError { len: 65, max: 64 }));
        check(&[0xFF, 0xFF, 0xFF, 0xFF], Err(FrameError { len: u32::MAX, max: 64 }));
    }

    #[test]
    fn the_next_frame_begins_where_the_first_ends() {
        let mut bytes = Vec::new();
        put(&mut bytes, crate::Kind::Ping, 0, 0, 1, |out| out.push(9));
        put(&mut bytes, crate::Kind::Ping, 0, 0, 2, |_| ());
        let (first, taken) = split(&bytes, 64).unwrap().unwrap();
        assert_eq!((first.id, first.body), (1, &[9][..]));
        let (second, _) = split(&bytes[taken..], 64).unwrap().unwrap();
        assert_eq!((second.id, second.body), (2, &[][..]));
    }
}
