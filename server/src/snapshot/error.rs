//! Why a snapshot was not written or not read: one line each, with what, where and what was expected.

use std::io;
use std::path::PathBuf;

use super::fingerprint::Fingerprint;

/// A snapshot was not written. The one that was there before is as it was, unless only `syncing the folder` failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The disk said no.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// A batch is over [`BLOCK_BYTES_MAX`](super::BLOCK_BYTES_MAX): it was read in too large a step.
    #[error("a batch of {records} records takes {bytes} bytes, over the {max} of a block")]
    BatchTooLong {
        /// Its records.
        records: usize,
        /// Its bytes.
        bytes: usize,
        /// The most that there may be.
        max: usize,
    },
}

/// A snapshot was not read. Nothing of it was used.
#[derive(Debug, thiserror::Error)]
#[error("{}: byte {at}: {fault}", path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Where in it: the byte at which the part begins that is wrong.
    pub at: u64,
    /// What is wrong.
    #[source]
    pub fault: Fault,
}

/// What is wrong with a file that should be a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The disk said no.
    #[error("reading failed: {0}")]
    Io(io::Error),
    /// It does not begin as a snapshot does.
    #[error("not a snapshot: it begins with {found:02x?}, not with {:02x?}", super::frame::MAGIC)]
    NotASnapshot {
        /// How it begins.
        found: [u8; 8],
    },
    /// It was written by another version of the program.
    #[error("snapshot format {found}; this program reads format {}", super::frame::FORMAT)]
    OtherFormat {
        /// The format it says it has.
        found: u32,
    },
    /// Its identities are hashes under other keys.
    #[error("made under hash keys {found}; this node's are {expected}")]
    OtherKeys {
        /// The fingerprint in the file.
        found: Fingerprint,
        /// This node's.
        expected: Fingerprint,
    },
    /// It ends too early.
    #[error("cut short in its {part}: {missing} bytes are missing at least")]
    CutShort {
        /// The part that it ends in.
        part: &'static str,
        /// Bytes that are missing of that part.
        missing: u64,
    },
    /// A sum does not match: bytes have changed.
    #[error("damaged {part}: its sum is {found:08x}, expected {expected:08x}")]
    Damaged {
        /// The part that has changed.
        part: &'static str,
        /// The sum of what is there.
        found: u32,
        /// The sum that was written.
        expected: u32,
    },
    /// A block is longer than there are blocks.
    #[error("a block of {found} bytes; {} are the most", super::BLOCK_BYTES_MAX)]
    BlockTooLong {
        /// The length that it says it has.
        found: usize,
    },
    /// Sums match, but a block says what no engine writes.
    #[error("a block that cannot be: {reason}")]
    Nonsense {
        /// Why not.
        reason: String,
    },
    /// The trailer counts other things than there are.
    #[error("{found} {what}, expected {expected}")]
    Miscounted {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many the trailer says there are.
        expected: u64,
    },
    /// Something follows the trailer.
    #[error("bytes behind the trailer, where the file should end")]
    TooLong,
}
