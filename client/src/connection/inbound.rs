//! Bytes that arrived and were not understood yet.

use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::frame::{self, Frame, FrameError};

/// Bytes that one read may bring: a thousand decisions.
const READ_BYTES: usize = 64 * 1024;

/// A buffer that frames are read from in place. It grows to the longest frame that came, at most four megabytes.
#[derive(Debug)]
pub(crate) struct Inbound {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbound {
    /// An empty buffer.
    pub(crate) fn new() -> Inbound {
        Inbound { bytes: vec![0; READ_BYTES], start: 0, end: 0 }
    }

    /// The first whole frame and its length, if there is one.
    #[inline]
    pub(crate) fn frame(&self) -> Result<Option<(Frame<'_>, usize)>, FrameError> {
        frame::split(&self.bytes[self.start..self.end], REPLY_BYTES_MAX)
    }

    /// Forgets the first `len` bytes.
    #[inline]
    pub(crate) fn consume(&mut self, len: usize) {
        self.start += len;
        assert!(self.start <= self.end, "nobody consumes what has not arrived");
    }

    /// Room for the next read; never empty.
    pub(crate) fn spare(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            // The buffer is full and holds no whole frame, else it would have been consumed: the frame is longer.
            self.bytes.resize((self.bytes.len() * 2).min(REPLY_BYTES_MAX + READ_BYTES), 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Says that a read filled the first `len` bytes of the spare room.
    pub(crate) fn filled(&mut self, len: usize) {
        self.end += len;
        assert!(self.end <= self.bytes.len(), "a read fits its buffer");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallyring_protocol::Reply;

    /// Feeds `bytes` in reads of `step`, and returns the ids of the frames that came out.
    fn ids(bytes: &[u8], step: usize) -> Vec<u32> {
        let (mut inbound, mut ids) = (Inbound::new(), Vec::new());
        for read in bytes.chunks(step) {
            let mut read = read;
            while !read.is_empty() {
                let spare = inbound.spare();
                let len = spare.len().min(read.len());
                spare[..len].copy_from_slice(&read[..len]);
                inbound.filled(len);
                read = &read[len..];
                while let Some((frame, len)) = inbound.frame().unwrap() {
                    ids.push(frame.id);
                    inbound.consume(len);
                }
            }
        }
        ids
    }

    #[test]
    fn frames_come_out_whole_however_they_were_cut() {
        let mut bytes = Vec::new();
        (1..=5).for_each(|id| Reply::Pong.encode(id, &mut bytes));
        for step in [1, 5, 12, 13, 60] {
            assert_eq!(ids(&bytes, step), [1, 2, 3, 4, 5], "{step}");
        }
    }

    #[test]
    fn a_frame_longer_than_a_read_fits() {
        let mut bytes = Vec::new();
        Reply::Topology(vec![b' '; REPLY_BYTES_MAX - 12].into()).encode(7, &mut bytes);
        Reply::Pong.encode(8, &mut bytes);
        assert_eq!(ids(&bytes, 50_000), [7, 8]);
    }

    #[test]
    fn a_frame_over_the_bound_is_refused() {
        let mut inbound = Inbound::new();
        inbound.spare()[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        inbound.filled(4);
        assert!(inbound.frame().is_err());
    }
}
