//! Frames: a length, and a value.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::FRAME_BYTES_MAX;
use crate::cluster::control::codec::{self, CodecError};

/// Bytes that are not read in one piece for fear of a false length: memory is taken as they come.
const STEP_BYTES: usize = 64 * 1024;

/// A connection that does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The network says no, or the other side has gone.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The frame is longer than any frame of its kind is.
    #[error("a frame of {bytes} bytes, 1 ..= {bytes_max} are allowed")]
    Length {
        /// The length that it says it has.
        bytes: usize,
        /// The longest.
        bytes_max: usize,
    },
    /// What is in it makes no sense.
    #[error("{0}")]
    Codec(#[from] CodecError),
}

/// Writes a value.
///
/// # Errors
/// [`FrameError::Length`]: it is too long, and nothing was written; or [`FrameError::Io`].
pub async fn write(to: &mut (impl AsyncWrite + Unpin), value: &impl Serialize) -> Result<(), FrameError> {
    let body = codec::encode(value);
    let Some(len) = u32::try_from(body.len()).ok().filter(|_| body.len() <= FRAME_BYTES_MAX) else {
        return Err(FrameError::Length { bytes: body.len(), bytes_max: FRAME_BYTES_MAX });
    };
    let frame = [&len.to_le_bytes()[..], &body].concat();
    to.write_all(&frame).await?;
    Ok(to.flush().await?)
}

/// Reads a value. Dropped in the middle it leaves the connection unusable.
///
/// # Errors
/// [`FrameError`].
pub async fn read<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> Result<T, FrameError> {
    let bytes = from.read_u32_le().await? as usize;
    if bytes == 0 || bytes > FRAME_BYTES_MAX {
        return Err(FrameError::Length { bytes, bytes_max: FRAME_BYTES_MAX });
    }
    let mut body = Vec::new();
    while body.len() < bytes {
        let begin = body.len();
        body.resize(bytes.min(begin + STEP_BYTES), 0);
        from.read_exact(&mut body[begin..]).await?;
    }
    Ok(codec::decode(&body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(bytes: &[u8], expect: Result<u64, &str>) {
        let mut bytes = bytes;
        let found = read::<u64>(&mut bytes).await.map_err(|error| error.to_string());
        assert_eq!(found.as_ref().map_err(String::as_str), expect.as_ref().map_err(|error| *error));
    }

    #[tokio::test]
    async fn a_frame_is_read_whole_or_not_at_all() {
        let mut frame = Vec::new();
        write(&mut frame, &300_u64).await.unwrap();
        check(&frame, Ok(300)).await;
        check(&frame[..5], Err("early eof")).await;
        check(&[0, 0, 0, 0], Err("a frame of 0 bytes, 1 ..= 2097152 are allowed")).await;
        check(&[0xFF; 8], Err("a frame of 4294967295 bytes, 1 ..= 2097152 are allowed")).await;
        check(&[3, 0, 0, 0, 9, 0, 1], Err("format 9; this program reads format 1")).await;
        check(&[4, 0, 0, 0, 1, 0, 1, 1], Err("1 bytes follow the value")).await;
    }

    #[tokio::test]
    async fn what_is_too_long_is_not_written() {
        let mut frame = Vec::new();
        let error = write(&mut frame, &vec![0_u8; FRAME_BYTES_MAX]).await.unwrap_err();
        assert!(matches!(error, FrameError::Length { .. }) && frame.is_empty());
    }
}
