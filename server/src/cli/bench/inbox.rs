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
        self.make_room();
        match stream.read_buf(&mut self.bytes).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Takes in what is there without waiting, and says how many bytes that was.
    pub(super) fn fill_now(&mut self, stream: &TcpStream) -> io::Result<usize> {
        self.make_room();
        match stream.try_read_buf(&mut self.bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            read => read,
        }
    }

    fn make_room(&mut self) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.reserve(READ_BYTES);
    }
}
