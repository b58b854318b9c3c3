//! Files and folders that somebody names: known to be some before they are opened, and read within a bound.
//!
//! Opening a named pipe waits until somebody writes into it, for ever perhaps, and a device may have no end. So what a node
//! needs to start, and what it reads again while it runs, is a regular file or is refused.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Why there is nothing to read or to write at a path.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says so.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Something else has that name.
    #[error("is {found}, not {wanted}")]
    Kind {
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// It is too large to be what it should be.
    #[error("has more than {bytes_max} bytes")]
    TooLarge {
        /// The most that is read.
        bytes_max: usize,
    },
}

/// Opens a regular file to read it, and nothing else.
///
/// # Errors
/// [`FileError`]; it does not say which path.
pub fn open(path: &Path) -> Result<File, FileError> {
    let found = fs::metadata(path)?.file_type();
    if !found.is_file() {
        return Err(FileError::Kind { found: kind_of(found), wanted: "a file" });
    }
    Ok(File::open(path)?)
}

/// Opens what can be read from its beginning to its end: a regular file, a pipe, a terminal. Opening a pipe may wait.
///
/// # Errors
/// As [`open`].
pub fn open_stream(path: &Path) -> Result<File, FileError> {
    let found = fs::metadata(path)?.file_type();
    if found.is_dir() || found.is_socket() || found.is_block_device() {
        return Err(FileError::Kind { found: kind_of(found), wanted: "a file" });
    }
    Ok(File::open(path)?)
}

/// Reads a regular file whole.
///
/// # Errors
/// As [`open`], and [`FileError::TooLarge`].
pub fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, FileError> {
    read_all(open(path)?, bytes_max)
}

/// Reads to the end of something.
///
/// # Errors
/// It cannot be read, or [`FileError::TooLarge`].
pub fn read_all(from: impl Read, bytes_max: usize) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    from.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max { Err(FileError::TooLarge { bytes_max }) } else { Ok(bytes) }
}

/// Makes a folder, and those around it, unless it is there.
///
/// # Errors
/// [`FileError`]: something else has its name, or the system says no.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => Err(FileError::Kind { found: kind_of(found.file_type()), wanted: "a folder" }),
        _ => Ok(fs::create_dir_all(path)?),
    }
}

fn kind_of(found: FileType) -> &'static str {
    match found {
        found if found.is_dir() => "a folder",
        found if found.is_fifo() => "a named pipe",
        found if found.is_socket() => "a socket",
        found if found.is_file() => "a file",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// Something of every kind, by its kind.
    fn zoo() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_owned();
        let at = move |name: &str| if name == "device" { "/dev/null".into() } else { folder.join(name) };
        fs::write(at("file"), "text").unwrap();
        fs::create_dir(at("folder")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        drop(UnixListener::bind(at("socket")).unwrap());
        (dir, at)
    }

    #[test]
    fn only_a_file_is_read_as_one() {
        let (_dir, at) = zoo();
        let check = |name: &str, expect: &str| {
            let read = read(&at(name), 4).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(read.unwrap_or_else(|error| error.to_string()), expect, "{name}");
        };
        check("file", "text");
        check("folder", "is a folder, not a file");
        check("pipe", "is a named pipe, not a file");
        check("socket", "is a socket, not a file");
        check("device", "is a device, not a file");
        check("nothing", "No such file or directory (os error 2)");
        assert_eq!(read(&at("file"), 3).unwrap_err().to_string(), "has more than 3 bytes");
    }

    #[test]
    fn a_stream_may_be_a_device_but_no_folder() {
        let (_dir, at) = zoo();
        assert!(open_stream(&at("file")).is_ok() && open_stream(&at("device")).is_ok());
        assert_eq!(open_stream(&at("folder")).unwrap_err().to_string(), "is a folder, not a file");
        assert_eq!(open_stream(&at("socket")).unwrap_err().to_string(), "is a socket, not a file");
    }

    #[test]
    fn a_folder_is_made_where_nothing_is() {
        let (_dir, at) = zoo();
        assert!(make_folder(&at("folder")).is_ok() && make_folder(&at("new/er")).is_ok());
        assert!(at("new/er").is_dir());
        assert_eq!(make_folder(&at("file")).unwrap_err().to_string(), "is a file, not a folder");
        assert_eq!(make_folder(&at("pipe")).unwrap_err().to_string(), "is a named pipe, not a folder");
    }
}
