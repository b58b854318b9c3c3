//! A token in plain text: what this process shows to others.

use std::fmt;
use std::sync::Arc;

use tallyring_protocol::bounds::TOKEN_BYTES_MAX;

/// A token that is never written to a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

/// Bytes that are no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is 1 ..= {TOKEN_BYTES_MAX} visible ASCII characters")]
pub struct NoToken;

impl Secret {
    /// The token that a file holds, apart from white space around it.
    ///
    /// # Errors
    /// [`NoToken`].
    pub fn read(bytes: &[u8]) -> Result<Secret, NoToken> {
        let bytes = bytes.trim_ascii();
        let is_token = (1..=TOKEN_BYTES_MAX).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
        match std::str::from_utf8(bytes) {
            Ok(token) if is_token => Ok(Secret(token.into())),
            _ => Err(NoToken),
        }
    }

    /// The token, for whoever has to show it.
    pub fn reveal(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl From<&str> for Secret {
    fn from(token: &str) -> Secret {
        Secret(token.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_word_that_nothing_prints() {
        let check = |bytes: &[u8], expect: Result<&str, NoToken>| {
            assert_eq!(Secret::read(bytes), expect.map(Secret::from), "{bytes:?}");
        };
        check(b" word\n", Ok("word"));
        check(b"", Err(NoToken));
        check(b"two words", Err(NoToken));
        check(b"\xFF", Err(NoToken));
        check(&[b'x'; TOKEN_BYTES_MAX + 1], Err(NoToken));
        assert_eq!(format!("{:?}", Secret::from("word")), "Secret(..)");
    }
}
