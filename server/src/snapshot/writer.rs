//! Writing a snapshot: beside the old one, then in its place.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tallyring_engine::Batch;

use super::error::WriteError;
use super::fingerprint::Fingerprint;
use super::frame::{self, Totals};
use super::{BLOCK_BYTES_MAX, wire};

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Records.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Writes a whole snapshot and puts it in place of the one at `path`, if there is one. Empty batches are left out.
///
/// # Errors
/// The disk said no, or a batch is too long; the snapshot that was there is as it was.
pub fn write(path: &Path, of: Fingerprint, batches: impl IntoIterator<Item = Batch>) -> Result<Written, WriteError> {
    let mut writer = Writer::create(path, of)?;
    for batch in batches {
        writer.add(&batch)?;
    }
    writer.commit()
}

/// A snapshot while it is written: a batch at a time, as shards hand them over. Dropped before
/// [`commit`](Writer::commit), it leaves no trace.
///
/// One at a time a path: a second one would write into the same unfinished file.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    unfinished: Unfinished,
    out: BufWriter<File>,
    sum: crc32fast::Hasher,
    totals: Totals,
    bytes: u64,
}

impl Writer {
    /// Begins a snapshot that is to stand at `path`.
    ///
    /// # Errors
    /// The file beside it cannot be made.
    pub fn create(path: &Path, of: Fingerprint) -> Result<Writer, WriteError> {
        let beside = beside(path);
        let file = File::create(&beside).map_err(failed(&beside, "creating"))?;
        let mut writer = Writer {
            path: path.to_owned(),
            unfinished: Unfinished(beside),
            out: BufWriter::with_capacity(1 << 16, file),
            sum: crc32fast::Hasher::new(),
            totals: Totals::default(),
            bytes: 0,
        };
        writer.put(&frame::header(of))?;
        Ok(writer)
    }

    /// Adds one batch; an empty one leaves no trace.
    ///
    /// # Errors
    /// The disk said no, or the batch is too long.
    pub fn add(&mut self, batch: &Batch) -> Result<(), WriteError> {
        if batch.records.is_empty() {
            return Ok(());
        }
        let body = wire::encode(batch);
        if body.len() > BLOCK_BYTES_MAX {
            let (records, bytes) = (batch.records.len(), body.len());
            return Err(WriteError::BatchTooLong { records, bytes, max: BLOCK_BYTES_MAX });
        }
        self.put(&frame::block_head(&body))?;
        self.put(&body)?;
        self.totals.blocks += 1;
        self.totals.records += batch.records.len() as u64;
        Ok(())
    }

    /// Makes the snapshot durable and puts it in its place: content first, then the name, then the folder that has it.
    ///
    /// # Errors
    /// The disk said no.
    pub fn commit(mut self) -> Result<Written, WriteError> {
        self.totals.sum = self.sum.clone().finalize();
        self.put(&frame::trailer(self.totals))?;
        let beside = &self.unfinished.0;
        self.out.flush().map_err(failed(beside, "writing"))?;
        self.out.get_ref().sync_all().map_err(failed(beside, "syncing"))?;
        std::fs::rename(beside, &self.path).map_err(failed(&self.path, "renaming onto"))?;
        let written = Written { records: self.totals.records, bytes: self.bytes };
        let folder = folder(&self.path);
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(failed(&folder, "syncing the folder"))?;
        Ok(written)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.out.write_all(bytes).map_err(failed(&self.unfinished.0, "writing"))?;
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// A file that goes unless it gets its name; once it has, nothing is left under this one.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nothing to do if it fails: the next snapshot begins by emptying the same file.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Where a snapshot is written before it gets its name: in the same folder, since only within one is renaming atomic.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".unfinished");
    path.with_file_name(name)
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> WriteError {
    move |source| WriteError::Io { path: path.to_owned(), doing, source }
}
