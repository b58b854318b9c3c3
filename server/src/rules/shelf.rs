//! Where editions survive a restart: one file each, in a folder of their own.
//!
//! An edition is written beside its place, brought to the disk, moved into its place, and the folder is brought to the
//! disk: only then is it published. Whenever the machine stops, an edition is there whole or not at all.
//!
//! ```text
//! tallyring rules 1 <SHA-256 of all that follows this line>
//! {"lineage":…,"version":7,"published_at_us":…,"author":"…","comment":"…"}
//! …the text, as it was published…
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tallyring_protocol::bounds::RULES_BYTES_MAX;

use super::book::{Book, EDITIONS_MAX};
use super::edition::{COMMENT_BYTES_MAX, Edition, Imprint};
use crate::sys::file::{self, FileError};

/// The first words of a file.
const MAGIC: &str = "tallyring rules 1 ";

/// What the name of an edition's file ends with.
const EXTENSION: &str = "rules";

/// Where an edition is written before it is moved into its place.
const DRAFT: &str = "draft";

/// Longest file, in bytes: the longest text, and a header whose every character was escaped.
const FILE_BYTES_MAX: usize = RULES_BYTES_MAX + 8 * COMMENT_BYTES_MAX;

/// Files looked at: the history, and what a stop in the middle of forgetting may have left.
const FILES_MAX: usize = 4 * EDITIONS_MAX;

/// A folder of editions.
#[derive(Debug)]
pub struct Shelf {
    folder: PathBuf,
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

#[allow(clippy::needless_pass_by_value, reason = "errors are handed over where they are made")]
impl ShelfError {
    fn new(path: &Path, reason: impl ToString) -> ShelfError {
        ShelfError { path: path.display().to_string(), reason: reason.to_string() }
    }
}

/// The second line of a file.
#[derive(Serialize, Deserialize)]
struct Header {
    lineage: u64,
    #[serde(flatten)]
    imprint: Imprint,
}

impl Shelf {
    /// Opens a folder, which is made if it is not there, and reads what stands in it.
    ///
    /// # Errors
    /// [`ShelfError`] names the file that is damaged, or the folder that cannot be read or written.
    pub fn open(folder: &Path) -> Result<(Shelf, Book), ShelfError> {
        file::make_folder(folder).map_err(|error| ShelfError::new(folder, error))?;
        let shelf = Shelf { folder: folder.to_owned() };
        let book = shelf.read()?;
        Ok((shelf, book))
    }

    /// Writes an edition; when this returns, it survives the end of the machine.
    ///
    /// # Errors
    /// The disk is full, broken, or not ours. The edition may be there after a restart all the same.
    pub fn write(&self, lineage: u64, edition: &Edition) -> io::Result<()> {
        let draft = self.folder.join(DRAFT);
        // Whatever has the draft's name is none of ours, or half of one: never written through, be it a link or a pipe.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&draft)?;
        file.write_all(&encode(lineage, edition))?;
        file.sync_all()?;
        fs::rename(&draft, self.place(edition.imprint.version))?;
        File::open(&self.folder)?.sync_all()
    }

    /// Removes an edition that is forgotten.
    ///
    /// # Errors
    /// It cannot be removed; it is then forgotten at the next start.
    pub fn remove(&self, version: u64) -> io::Result<()> {
        fs::remove_file(self.place(version))
    }

    /// Twenty digits, so that the order of names is the order of versions.
    fn place(&self, version: u64) -> PathBuf {
        self.folder.join(format!("{version:020}.{EXTENSION}"))
    }

    fn read(&self) -> Result<Book, ShelfError> {
        let mut lineage = None;
        let mut editions = Vec::new();
        for path in self.files()? {
            let (of, edition) = read_file(&path)?;
            if *lineage.get_or_insert(of) != of {
                let reason = "is from another history than the files before it: move the files of one of them away";
                return Err(ShelfError::new(&path, reason));
            }
            if self.place(edition.imprint.version) != path {
                let reason = format!("holds version {}: give the file its name back", edition.imprint.version);
                return Err(ShelfError::new(&path, reason));
            }
            editions.push(edition);
        }
        Book::from_editions(lineage.unwrap_or(0), editions)
            .map_err(|gap| ShelfError::new(&self.folder, format!("{gap}: put the missing file back")))
    }

    /// The files of editions, in the order of their versions.
    fn files(&self) -> Result<Vec<PathBuf>, ShelfError> {
        let broken = |error: io::Error| ShelfError::new(&self.folder, error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(broken)? {
            let path = entry.map_err(broken)?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push(path);
            }
            if files.len() > FILES_MAX {
                return Err(ShelfError::new(&self.folder, format!("holds more than {FILES_MAX} versions")));
            }
        }
        files.sort();
        Ok(files)
    }
}

fn encode(lineage: u64, edition: &Edition) -> Vec<u8> {
    let header = Header { lineage, imprint: edition.imprint.clone() };
    let header = serde_json::to_string(&header).expect("numbers and texts have a JSON form");
    let body = format!("{header}\n{}", edition.text.as_str());
    format!("{MAGIC}{}\n{body}", hex(&Sha256::digest(body.as_bytes()))).into_bytes()
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
mod tests {
    use super::*;

    fn edition(version: u64, text: &str) -> Edition {
        let (author, comment) = ("alice, from 127.0.0.1".into(), "why \"not\"".into());
        Edition { imprint: Imprint { version, published_at_us: 5, author, comment }, text: text.to_owned().into() }
    }

    /// A folder with three versions in it.
    fn three() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let (shelf, _) = Shelf::open(dir.path()).unwrap();
        for version in 1..=3 {
            shelf.write(9, &edition(version, &format!("text {version}\n\n# käse\n"))).unwrap();
        }
        dir
    }

    #[test]
    fn what_was_written_is_there_after_a_restart() {
        let dir = three();
        let (_, book) = Shelf::open(dir.path()).unwrap();
        assert_eq!((book.version().lineage, book.version().version), (9, 3));
        let texts: Vec<&str> = book.editions().map(|edition| edition.text.as_str()).collect();
        assert_eq!(texts, ["text 3\n\n# käse\n", "text 2\n\n# käse\n", "text 1\n\n# käse\n"]);
        assert_eq!(**book.live().unwrap(), edition(3, "text 3\n\n# käse\n"));
    }

    #[test]
    fn an_edition_that_was_not_moved_into_its_place_is_none() {
        let dir = three();
        let whole = encode(9, &edition(4, "text 4"));
        fs::write(dir.path().join(DRAFT), &whole[..whole.len() - 1]).unwrap();
        assert_eq!(Shelf::open(dir.path()).unwrap().1.version().version, 3);
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

    /// Changes a folder with three versions, and returns why it cannot be opened any more.
    fn check(change: impl FnOnce(&Path), expect: &str) {
        let dir = three();
        change(dir.path());
        let error = Shelf::open(dir.path()).unwrap_err().to_string();
        let error = error.replace(&dir.path().display().to_string(), "D");
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
        check(
            |dir| fs::write(dir.join(name(3)), encode(8, &edition(3, "x"))).unwrap(),
            &format!("D/{}: is from another history", name(3)),
        );
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
    fn nothing_is_written_through_what_has_the_name_of_the_draft() {
        let dir = three();
        let (shelf, _) = Shelf::open(dir.path()).unwrap();
        let (draft, other) = (dir.path().join(DRAFT), dir.path().join("other"));
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, &draft).unwrap();
        shelf.write(9, &edition(4, "text")).unwrap();
        pipe(&draft);
        shelf.write(9, &edition(5, "text")).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        assert_eq!(Shelf::open(dir.path()).unwrap().1.version().version, 5);
        fs::create_dir(&draft).unwrap();
        assert!(shelf.write(9, &edition(6, "text")).is_err());
    }

    #[test]
    fn the_oldest_may_be_missing() {
        let dir = three();
        let (shelf, _) = Shelf::open(dir.path()).unwrap();
        shelf.remove(1).unwrap();
        assert_eq!(Shelf::open(dir.path()).unwrap().1.editions().count(), 2);
    }
}
