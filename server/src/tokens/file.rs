//! The token file: TOML with the SHA-256 of the tokens of each role.
//!
//! Whoever writes a token itself into it, or into the wrong place, must not find it in the log: no message repeats what
//! stands in the file.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{TokenHash, Tokens, TokensError};
use crate::sys::file::{self, FileError};

/// Bytes of a token file: six hashes, and comments.
const FILE_BYTES_MAX: usize = 64 * 1_024;

/// A token file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says, or what it is.
        source: FileError,
    },
    /// It is no token file.
    #[error(
        "{}:{line}:{column}: not a token file: client, peer and admin are lists of SHA-256 as 64 hexadecimal digits, \
         as `printf %s TOKEN | sha256sum` prints them",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
    },
    /// It is larger than any token file is.
    #[error("{}: {bytes} bytes, at most {FILE_BYTES_MAX} are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How large it is.
        bytes: usize,
    },
    /// Its tokens make no sense.
    #[error("{}: {reason}", path.display())]
    Senseless {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: TokensError,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    #[serde(default)]
    client: Vec<HexHash>,
    #[serde(default)]
    peer: Vec<HexHash>,
    #[serde(default)]
    admin: Vec<HexHash>,
}

/// A token's hash as it stands in the file.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct HexHash(TokenHash);

impl TryFrom<String> for HexHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<HexHash, &'static str> {
        TokenHash::from_hex(&text).map(HexHash).ok_or("no SHA-256")
    }
}

/// Reads the tokens of a file.
///
/// # Errors
/// [`TokenFileError`], which says where, and never what stands there.
pub fn read(path: &Path) -> Result<Tokens, TokenFileError> {
    parse(path, &read_bytes(path)?)
}

/// The bytes of a file that holds tokens.
///
/// # Errors
/// It cannot be read, or is larger than any token file is.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, TokenFileError> {
    file::read(path, FILE_BYTES_MAX).map_err(|source| TokenFileError::Read { path: path.to_owned(), source })
}

/// The tokens of a file that was read.
///
/// # Errors
/// As [`read`].
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Tokens, TokenFileError> {
    let path = || path.to_owned();
    if bytes.len() > FILE_BYTES_MAX {
        return Err(TokenFileError::TooLarge { path: path(), bytes: bytes.len() });
    }
    let malformed = |at: usize| {
        let before = &bytes[..at.min(bytes.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        TokenFileError::Malformed { path: path(), line, column }
    };
    let text = std::str::from_utf8(bytes).map_err(|error| malformed(error.valid_up_to()))?;
    let file: TokenFile = toml::from_str(text).map_err(|error| malformed(error.span().map_or(0, |span| span.start)))?;
    let hashes = |hashes: Vec<HexHash>| hashes.into_iter().map(|hash| hash.0).collect();
    let tokens = Tokens { client: hashes(file.client), peer: hashes(file.peer), admin: hashes(file.admin) };
    match tokens.validate() {
        Ok(()) => Ok(tokens),
        Err(reason) => Err(TokenFileError::Senseless { path: path(), reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, appendix B.1

    fn check(text: &str, expect: &str) {
        let error = parse(Path::new("t.toml"), text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expect), "{text:?}: {error}");
        assert!(!error.contains("s3cret"), "a token is in the log: {error}");
    }

    #[test]
    fn a_file_may_come_from_windows() {
        let text = format!("\u{feff}# who\r\nclient = [\r\n  \"{}\",\r\n]\r\n", ABC.to_uppercase());
        assert_eq!(parse(Path::new("t.toml"), text.as_bytes()).unwrap().client, [TokenHash::of("abc")]);
    }

    #[test]
    fn a_file_names_the_hashes_of_each_role() {
        let zeros = "0".repeat(64);
        let text = format!("# who\nclient = [\"{ABC}\"]\nadmin = [\"{zeros}\"]\n");
        let tokens = parse(Path::new("t.toml"), text.as_bytes()).unwrap();
        assert_eq!(tokens.client, [TokenHash::of("abc")]);
        assert_eq!((tokens.admin.len(), tokens.peer.len()), (1, 0));
    }

    #[test]
    fn a_bad_file_is_told_by_its_place_and_never_by_its_content() {
        check("client = [\"s3cret\"]", "t.toml:1:10: not a token file");
        check("\nclient = \"s3cret\"", "t.toml:2:10: not a token file");
        check("\n\ns3cret", "t.toml:3:");
        check("s3cret = []", "t.toml:1:1: not a token file");
        check(&"#".repeat(FILE_BYTES_MAX + 1), "t.toml: 65537 bytes");
    }

    #[test]
    fn roles_have_two_tokens_each_at_most_and_none_in_common() {
        check(
            &format!("client = [\"{ABC}\", \"{ABC}\", \"{ABC}\"]"),
            "t.toml: client: 3 tokens, at most 2 are valid at once",
        );
        check("", "t.toml: it names no token, so nobody could connect");
        let shared = "t.toml: client and admin: one token is in both, so it would be of the mightier role";
        check(&format!("client = [\"{ABC}\"]\nadmin = [\"{ABC}\"]"), shared);
        check(&format!("peer = [\"{ABC}\"]\nadmin = [\"{}\"]", ABC.to_uppercase()), "t.toml: peer and admin:");
    }
}
