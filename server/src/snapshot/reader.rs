//! Reading a snapshot: the whole file is looked through before any of it is handed out.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use tallyring_engine::Batch;

use super::checked::Checked;
use super::error::{Fault, ReadError};
use super::fingerprint::Fingerprint;
use super::frame::{self, BLOCK_HEAD_BYTES, HEADER_BYTES, NO_BLOCK, TRAILER_BYTES, Totals};
use super::{BLOCK_BYTES_MAX, wire};

/// A snapshot that was looked through and found whole: its batches in the order in which they were written, one in
/// memory at a time.
///
/// Ends after an error, which only a disk that fails between the two passes can cause.
#[derive(Debug)]
pub struct Snapshot {
    path: PathBuf,
    parts: Parts<BufReader<File>>,
    records: u64,
    is_over: bool,
}

/// Looks through the snapshot at `path`: every sum, every record, and that nothing is missing or too much.
///
/// The file stays open, so a newer snapshot that takes the name meanwhile changes nothing.
///
/// # Errors
/// The first fault, and where it is. Nothing of such a file is handed out.
pub fn read(path: &Path, of: Fingerprint) -> Result<Snapshot, ReadError> {
    let fail = |(at, fault)| ReadError { path: path.to_owned(), at, fault };
    let io = |error| fail((0, Fault::Io(error)));
    let mut file = File::open(path).map_err(io)?;
    let records = look_through(BufReader::new(&file), of).map_err(fail)?;
    file.rewind().map_err(io)?;
    let parts = Parts::begin(BufReader::new(file), of).map_err(|fault| fail((0, fault)))?;
    Ok(Snapshot { path: path.to_owned(), parts, records, is_over: false })
}

/// Reads everything once and keeps nothing; answers how many records there are, or what is wrong and where.
pub(super) fn look_through(input: impl Read, of: Fingerprint) -> Result<u64, (u64, Fault)> {
    let mut parts = Parts::begin(input, of).map_err(|fault| (0, fault))?;
    loop {
        let at = parts.input.at();
        match parts.next_batch() {
            Ok(Some(batch)) => batch.check().map_err(|error| (at, Fault::Nonsense { reason: error.to_string() }))?,
            Ok(None) => return Ok(parts.seen.records),
            Err(fault) => return Err((at, fault)),
        }
    }
}

impl Snapshot {
    /// Records in all of it.
    pub fn records(&self) -> u64 {
        self.records
    }
}

impl Iterator for Snapshot {
    type Item = Result<Batch, ReadError>;

    fn next(&mut self) -> Option<Result<Batch, ReadError>> {
        if self.is_over {
            return None;
        }
        let at = self.parts.input.at();
        let next = self.parts.next_batch();
        self.is_over = !matches!(next, Ok(Some(_)));
        next.map_err(|fault| ReadError { path: self.path.clone(), at, fault }).transpose()
    }
}

/// A snapshot part by part: blocks, then the trailer and nothing more.
#[derive(Debug)]
struct Parts<R> {
    input: Checked<R>,
    /// What was read so far, to be compared with what the trailer counts.
    seen: Totals,
}

impl<R: Read> Parts<R> {
    /// Reads the header, which must be of this format and these hash keys.
    fn begin(input: R, of: Fingerprint) -> Result<Parts<R>, Fault> {
        let mut input = Checked::new(input);
        check_header(&input.array("header")?, of)?;
        Ok(Parts { input, seen: Totals::default() })
    }

    /// The next batch; `None` if a trailer came that agrees with everything before it, and nothing behind it.
    fn next_batch(&mut self) -> Result<Option<Batch>, Fault> {
        let before = self.input.sum();
        let len: [u8; 4] = self.input.array("block's head")?;
        match u32::from_le_bytes(len) {
            NO_BLOCK => self.end(Totals { sum: before, ..self.seen }).map(|()| None),
            _ => self.block(len).map(Some),
        }
    }

    fn block(&mut self, len: [u8; 4]) -> Result<Batch, Fault> {
        let found = u32::from_le_bytes(len) as usize;
        if found > BLOCK_BYTES_MAX {
            return Err(Fault::BlockTooLong { found });
        }
        let sum: [u8; BLOCK_HEAD_BYTES - 4] = self.input.array("block's head")?;
        let mut body = vec![0; found];
        self.input.fill(&mut body, "block")?;
        check_sum("block", frame::block_sum(len, &body), u32::from_le_bytes(sum))?;
        let batch = wire::decode(&body).map_err(|reason| Fault::Nonsense { reason })?;
        self.seen.blocks += 1;
        self.seen.records += batch.records.len() as u64;
        Ok(batch)
    }

    fn end(&mut self, seen: Totals) -> Result<(), Fault> {
        let mut trailer = [0; TRAILER_BYTES];
        self.input.fill(&mut trailer[4..], "trailer")?;
        check_own_sum("trailer", &trailer)?;
        let totals = frame::read_trailer(&trailer);
        check_count("blocks", seen.blocks, totals.blocks)?;
        check_count("records", seen.records, totals.records)?;
        check_sum("file", seen.sum, totals.sum)?;
        if self.input.is_at_end()? { Ok(()) } else { Err(Fault::TooLong) }
    }
}

fn check_header(header: &[u8; HEADER_BYTES], of: Fingerprint) -> Result<(), Fault> {
    let magic = std::array::from_fn(|no| header[no]);
    if magic != frame::MAGIC {
        return Err(Fault::NotASnapshot { found: magic });
    }
    // Before the sum: another format's header may be of another length.
    let format = frame::u32_at(header, 8);
    if format != frame::FORMAT {
        return Err(Fault::OtherFormat { found: format });
    }
    check_own_sum("header", header)?;
    let found = Fingerprint::from_bytes(std::array::from_fn(|no| header[12 + no]));
    if found == of { Ok(()) } else { Err(Fault::OtherKeys { found, expected: of }) }
}

/// Compares a part with the sum that it ends with.
fn check_own_sum(part: &'static str, bytes: &[u8]) -> Result<(), Fault> {
    let fields = bytes.len() - 4;
    check_sum(part, crc32fast::hash(&bytes[..fields]), frame::u32_at(bytes, fields))
}

fn check_sum(part: &'static str, found: u32, expected: u32) -> Result<(), Fault> {
    if found == expected { Ok(()) } else { Err(Fault::Damaged { part, found, expected }) }
}

fn check_count(what: &'static str, found: u64, expected: u64) -> Result<(), Fault> {
    if found == expected { Ok(()) } else { Err(Fault::Miscounted { what, found, expected }) }
}
