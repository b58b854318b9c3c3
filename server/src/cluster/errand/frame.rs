//! Frames of a line, many in a read and many in a write: a length, and a value.

use bytes::{Buf, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cluster::control::codec;
use crate::cluster::peer::frame::FrameError;

/// Errands, or answers, of one frame.
pub(super) const ITEMS_MAX: usize = 64;

/// Longest frame, in bytes: [`ITEMS_MAX`] errands of sixteen parts each with its definition.
pub(super) const FRAME_BYTES_MAX: usize = 256 * 1_024;

/// Bytes after which no further frame is added to a write.
pub(super) const WRITE_BYTES: usize = 64 * 1_024;

/// Room for a read, in bytes.
pub(super) const READ_BYTES: usize = 16 * 1_024;

/// Appends a value, which has at most [`ITEMS_MAX`] items.
pub(super) fn append(value: &impl Serialize, out: &mut Vec<u8>) {
    let body = codec::encode(value);
    debug_assert!(body.len() <= FRAME_BYTES_MAX, "no item is that long");
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&body);
}

/// Takes the first value of what was read; `None` = its end has not come yet.
///
/// # Errors
/// [`FrameError`]: it is longer than any, or no value.
pub(super) fn split<T: DeserializeOwned>(inbox: &mut BytesMut) -> Result<Option<T>, FrameError> {
    let Some((length, rest)) = inbox.split_first_chunk::<4>() else { return Ok(None) };
    let bytes = u32::from_le_bytes(*length) as usize;
    if bytes == 0 || bytes > FRAME_BYTES_MAX {
        return Err(FrameError::Length { bytes, bytes_max: FRAME_BYTES_MAX });
    }
    let Some(body) = rest.get(..bytes) else { return Ok(None) };
    let value = codec::decode(body)?;
    inbox.advance(length.len() + bytes);
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_split_as_they_come() {
        let mut written = Vec::new();
        append(&7_u64, &mut written);
        append(&"x".to_owned(), &mut written);
        let mut inbox = BytesMut::new();
        for byte in &written[..written.len() - 1] {
            inbox.extend_from_slice(&[*byte]);
            if let Some(first) = split::<u64>(&mut inbox).unwrap_or(None) {
                assert_eq!(first, 7);
                break;
            }
        }
        assert!(inbox.is_empty());
        inbox.extend_from_slice(&written[written.len() - 8..]);
        assert_eq!(split::<String>(&mut inbox).unwrap().as_deref(), Some("x"));
        assert!(split::<u64>(&mut inbox).unwrap().is_none());
    }

    #[test]
    fn a_length_that_no_frame_has_ends_the_line() {
        let check = |bytes: u32| split::<u64>(&mut BytesMut::from(&bytes.to_le_bytes()[..])).is_err();
        assert!(check(0) && check(FRAME_BYTES_MAX as u32 + 1) && check(u32::MAX));
        assert!(!check(FRAME_BYTES_MAX as u32));
    }
}
