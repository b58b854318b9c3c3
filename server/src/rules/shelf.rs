//! The folder in which editions stood before nodes agreed on them: it is read once, when a data folder of that time gets a
//! control plane, and then it is no more.
//!
//! ```text
//! tallyring rules 1 <SHA-256 of all that follows this line>
//! {"lineage":…,"version":7,"published_at_us":…,"author":"…","comment":"…"}
//! …the text, as it was published…
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tallyring_protocol::bounds::RULES_BYTES_MAX;

use super::book::{Book, EDITIONS_MAX};
use super::edition::{COMMENT_BYTES_MAX, Edition, Imprint};
use crate::cluster::control::Control;
use crate::cluster::control::change::{Publish, What};
use crate::cluster::control::desk::ProposeError;
use crate::cluster::control::packed::{Packed, TooLong};
use crate::sys::file::{self, FileError};

/// Its name inside a node's data folder.
const FOLDER: &str = "rules";

/// The first words of a file.
const MAGIC: &str = "tallyring rules 1 ";

/// What the name of an edition's file ends with.
const EXTENSION: &str = "rules";

/// Longest file, in bytes: the longest text, and a header whose every character was escaped.
const FILE_BYTES_MAX: usize = RULES_BYTES_MAX + 8 * COMMENT_BYTES_MAX;

/// Files looked at: the history, and what a stop in the middle of forgetting may have left.
const FILES_MAX: usize = 4 * EDITIONS_MAX;

/// What stood in the folder.
#[derive(Debug)]
pub struct Shelf {
    folder: PathBuf,
    files: Vec<PathBuf>,
    book: Book,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct ShelfError {
    /// The file or the folder.
    pub path: String,
    /// What is wrong with it and what to do.
    pub reason: String,
}

/// Why editions are not the control plane's yet; the next start tries again.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The folder cannot be used.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// An edition is too long.
    #[error("version {version} of the rules: {reason}")]
    TooLong {
        /// Which one.
        version: u64,
        /// How long it is.
        reason: TooLong,
    },
    /// The control plane does not take them.
    #[error("the rules of the data folder: {0}")]
    NotAgreed(#[from] ProposeError),
}

#[allow(clippy::needless_pass_by_value, reason = "errors are handed over where they are made")]
impl ShelfError {
    fn new(path: &Path, reason: impl ToString) -> ShelfError {
        ShelfError { path: path.display().to_string(), reason: reason.to_string() }
    }
}

/// The second line of a file.
#[derive(Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
struct Header {
    lineage: u64,
    #[serde(flatten)]
    imprint: Imprint,
}

impl Shelf {
    /// Reads the shelf of a node's data folder; `None` if there is none.
    ///
    /// # Errors
    /// [`ShelfError`] names the file that is damaged, or the folder that cannot be read.
    pub fn open(data: &Path) -> Result<Option<Shelf>, ShelfError> {
        let folder = data.join(FOLDER);
        match fs::symlink_metadata(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => Shelf::read(folder).map(Some),
        }
    }

    /// Has the control plane take the editions, with their dates and authors, and removes them.
    ///
    /// A stop in the middle is made good at the next start. A node that is not the only member of its cluster leaves them
    /// where they are: the others have rules of their own.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn import(self, control: &Control) -> Result<(), ImportError> {
        let state = control.state();
        let editions: Vec<_> = self.book.editions().rev().collect(); // oldest first
        let taken = match state.rules().live() {
            None => Some(0),
            Some(live) => editions.iter().position(|of| of.imprint == live.imprint).map(|last| last + 1),
        };
        let Some(taken) = taken.filter(|_| state.members().len() == 1) else {
            tracing::warn!(folder = %self.folder.display(), "the cluster has rules of its own: remove this folder");
            return Ok(());
        };
        for edition in &editions[taken..] {
            control.propose_at(edition.imprint.published_at_us, publish(edition)?).await?;
        }
        tracing::info!(versions = self.files.len(), "the rules of the data folder are the control plane's now");
        self.remove();
        Ok(())
    }

    /// Removes what was taken. What cannot be removed is of no use any more, and does no harm.
    fn remove(self) {
        let removed = self.files.iter().try_for_each(fs::remove_file);
        let draft = self.folder.join("draft"); // half of one that nobody was told of
        let removed = removed.map(|()| drop(fs::remove_file(draft))).and_then(|()| fs::remove_dir(&self.folder));
        if let Err(error) = removed {
            tracing::warn!(%error, folder = %self.folder.display(), "remove this folder: its rules were taken");
        }
    }

    fn read(folder: PathBuf) -> Result<Shelf, ShelfError> {
        let mut lineage = None;
        let mut editions = Vec::new();
        let files = files(&folder)?;
        for path in &files {
            let (of, edition) = read_file(path)?;
            if *lineage.get_or_insert(of) != of {
                let reason = "is from another history than the files before it: move the files of one of them away";
                return Err(ShelfError::new(path, reason));
            }
            if place(&folder, edition.imprint.version) != *path {
                let reason = format!("holds version {}: give the file its name back", edition.imprint.version);
                return Err(ShelfError::new(path, reason));
            }
            editions.push(edition);
        }
        let book = Book::from_editions(lineage.unwrap_or(0), editions)
            .map_err(|gap| ShelfError::new(&folder, format!("{gap}: put the missing file back")))?;
        Ok(Shelf { folder, files, book })
    }
}

fn publish(edition: &Edition) -> Result<What, ImportError> {
    let Imprint { version, author, comment, .. } = edition.imprint.clone();
    let text = Packed::new(&edition.text).map_err(|reason| ImportError::TooLong { version, reason })?;
    Ok(What::Publish(Publish { text, author, comment, expect: None }))
}

/// Twenty digits, so that the order of names is the order of versions.
fn place(folder: &Path, version: u64) -> PathBuf {
    folder.join(format!("{version:020}.{EXTENSION}"))
}

/// The files of editions, in the order of their versions.
fn files(folder: &Path) -> Result<Vec<PathBuf>, ShelfError> {
    let broken = |error: io::Error| ShelfError::new(folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            return Err(ShelfError::new(folder, format!("holds more than {FILES_MAX} versions")));
        }
    }
    files.sort();
    Ok(files)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_file(path: &Path) -> Result<(u64, Edition), ShelfError> {
    let bytes = file::read(path, FILE_BYTES_MAX).map_err(|error| match error {
        FileError::TooLarge { .. } => ShelfError::new(path, "is longer than any rules document"),
        error => ShelfError::new(path, error),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| ShelfError::new(path, DAMAGED))?;
    decode(&text).map_err(|reason| ShelfError::new(path, reason))
}

const DAMAGED: &str = "is damaged or was edited: restore it, or move it away together with all later versions";

/// # Errors
/// What is wrong with the file and what to do.
fn decode(text: &str) -> Result<(u64, Edition), &'static str> {
    let (sum, body) = text.strip_prefix(MAGIC).and_then(|rest| rest.split_once('\n')).ok_or(DAMAGED)?;
    if sum != hex(&Sha256::digest(body.as_bytes())) {
        return Err(DAMAGED);
    }
    let (header, text) = body.split_once('\n').ok_or(DAMAGED)?;
    let Header { lineage, imprint } = serde_json::from_str(header).map_err(|_| "was written by another version")?;
    Ok((lineage, Edition { imprint, text: text.to_owned().into() }))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn encode(lineage: u64, edition: &Edition) -> Vec<u8> {
        let header = Header { lineage, imprint: edition.imprint.clone() };
        let header = serde_json::to_string(&header).expect("numbers and texts have a JSON form");
        let body = format!("{header}\n{}", edition.text.as_str());
        format!("{MAGIC}{}\n{body}", hex(&Sha256::digest(body.as_bytes()))).into_bytes()
    }

    fn edition(version: u64, text: &str) -> Edition {
        let (author, comment) = ("alice, from 127.0.0.1".into(), "why \"not\"".into());
        let published_at_us = 4 + version;
        Edition { imprint: Imprint { version, published_at_us, author, comment }, text: text.to_owned().into() }
    }

    fn put(dir: &Path, lineage: u64, edition: &Edition) {
        fs::write(place(dir, edition.imprint.version), encode(lineage, edition)).expect("a folder");
    }

    /// A data folder with these versions in it.
    pub(in super::super) fn with(versions: impl IntoIterator<Item = u64>) -> tempfile::TempDir {
        let data = tempfile::tempdir().expect("a folder");
        fs::create_dir(data.path().join(FOLDER)).expect("a folder");
        for version in versions {
            put(&data.path().join(FOLDER), 5, &edition(version, &format!("# version {version}\n\n# käse\n")));
        }
        data
    }

    #[test]
    fn what_was_written_is_read() {
        let data = with(1..=3);
        let Shelf { book, .. } = Shelf::open(data.path()).unwrap().unwrap();
        assert_eq!((book.version().lineage, book.version().version), (5, 3));
        let texts: Vec<&str> = book.editions().map(|edition| edition.text.as_str()).collect();
        assert_eq!(texts, [3, 2, 1].map(|version| format!("# version {version}\n\n# käse\n")));
    }

    #[test]
    fn a_folder_of_today_has_no_shelf() {
        assert!(Shelf::open(tempfile::tempdir().unwrap().path()).unwrap().is_none());
    }

    #[test]
    fn any_wrong_byte_is_noticed() {
        let whole = encode(9, &edition(1, "text"));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let damaged = String::from_utf8(bytes).unwrap();
            assert!(decode(&damaged).is_err(), "byte {at}: {damaged}");
            assert!(decode(std::str::from_utf8(&whole[..at]).unwrap()).is_err(), "cut at {at}");
        }
        assert!(decode(std::str::from_utf8(&whole).unwrap()).is_ok());
    }

    /// Changes a shelf with three versions, and returns why it cannot be read any more.
    fn check(change: impl FnOnce(&Path), expect: &str) {
        let data = with(1..=3);
        change(&data.path().join(FOLDER));
        let error = Shelf::open(data.path()).unwrap_err().to_string();
        let error = error.replace(&data.path().join(FOLDER).display().to_string(), "D");
        assert!(error.starts_with(expect), "{error}");
    }

    #[test]
    fn a_folder_that_does_not_hold_one_whole_history_is_refused_with_the_file_that_is_wrong() {
        let name = |version: u64| format!("{version:020}.rules");
        check(|dir| fs::write(dir.join(name(2)), "").unwrap(), &format!("D/{}: is damaged or was edited", name(2)));
        check(|dir| fs::remove_file(dir.join(name(2))).unwrap(), "D: version 3 stands where version 2 is expected");
        check(
            |dir| fs::rename(dir.join(name(3)), dir.join(name(4))).unwrap(),
            &format!("D/{}: holds version 3", name(4)),
        );
        check(|dir| put(dir, 8, &edition(3, "x")), &format!("D/{}: is from another history", name(3)));
        check(
            |dir| fs::write(dir.join(name(4)), vec![b'x'; FILE_BYTES_MAX + 1]).unwrap(),
            &format!("D/{}: is longer than any", name(4)),
        );
        check(|dir| fs::write(dir.join(name(3)), b"\xFF").unwrap(), &format!("D/{}: is damaged or", name(3)));
        check(|dir| pipe(&dir.join(name(4))), &format!("D/{}: is a named pipe, not a file", name(4)));
        check(|dir| fs::create_dir(dir.join(name(4))).unwrap(), &format!("D/{}: is a folder, not a file", name(4)));
    }

    fn pipe(path: &Path) {
        use rustix::fs::{CWD, Mode, mkfifoat};
        mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
    }

    #[test]
    fn the_oldest_may_be_missing() {
        assert_eq!(Shelf::open(with(2..=3).path()).unwrap().unwrap().book.editions().count(), 2);
    }
}
