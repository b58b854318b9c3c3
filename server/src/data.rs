//! A node's data folder: what survives a restart, for one process at a time.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::sys::file::{self, FileError};

/// The file that says by its lock that a node uses the folder.
const LOCK: &str = "lock";

/// A folder that this process uses, and no other.
#[derive(Debug)]
pub struct Data {
    folder: PathBuf,
    /// Unlocked when dropped, also by the end of the process however it comes.
    _lock: File,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("data: {}: {reason}", .folder.display())]
pub struct DataError {
    /// The folder.
    pub folder: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl Data {
    /// Takes a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`DataError`]: another process uses it, or it cannot be written.
    pub fn open(folder: &Path) -> Result<Data, DataError> {
        let refused = |reason: String| DataError { folder: folder.to_owned(), reason };
        file::make_folder(folder).map_err(|error| refused(error.to_string()))?;
        let lock = lock_file(folder).map_err(|error| refused(format!("{LOCK}: {error}")))?;
        match lock.try_lock() {
            Ok(()) => Ok(Data { folder: folder.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(refused("another node uses it".to_owned())),
            Err(TryLockError::Error(error)) => Err(refused(error.to_string())),
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn lock_file(folder: &Path) -> Result<File, FileError> {
    let path = folder.join(LOCK);
    match file::open(&path) {
        Err(error @ FileError::Kind { .. }) => Err(error), // to open a pipe would wait for somebody at its other end
        _ => Ok(File::options().create(true).truncate(false).write(true).open(path)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_for_one_node_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("made/if/missing");
        let first = Data::open(&folder).unwrap();
        let error = Data::open(&folder).unwrap_err().to_string();
        assert_eq!(error, format!("data: {}: another node uses it", folder.display()));
        drop(first);
        assert!(Data::open(&folder).is_ok());
    }

    #[test]
    fn what_is_no_folder_is_told_as_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        let refused = || Data::open(&path).unwrap_err().to_string().replace(&path.display().to_string(), "D");
        std::fs::write(&path, "").unwrap();
        assert_eq!(refused(), "data: D: is a file, not a folder");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir_all(path.join("lock")).unwrap();
        assert_eq!(refused(), "data: D: lock: is a folder, not a file");
    }
}
