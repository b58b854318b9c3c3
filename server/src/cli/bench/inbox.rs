//! Bytes that have arrived and are not understood yet.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// Bytes that one reading makes room for: a thousand decisions.
const READ_BYTES: usize = 64 * 1024;

/// A buffer that is read into at its end and understood from its beginning.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
}

impl Inbox {
    /// What has arrived and not been taken.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Says that the first `count` bytes have been understood.
    pub(super) fn take(&mut self, count: usize) {
        self.start += count;
    }

    /// Waits for more. A peer that closes the connection is an error: there was a question.
    pub(super) async fn fill(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.reserve(READ_BYTES);
        match stream.read_buf(&mut self.bytes).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
