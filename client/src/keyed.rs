//! What a limiter takes as a key.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use tallyring_protocol::Key;

/// Stands before the digest of a text that is no key as it is. UTF-8 has no such byte, so no text equals a digest.
const DIGEST_MARKER: u8 = 0xFF;

/// A [`Key`], or a text that is one: see [`raw_key`].
pub trait Keyed: sealed::Sealed {
    /// The key.
    fn key(&self) -> Cow<'_, Key>;
}

impl Keyed for Key {
    fn key(&self) -> Cow<'_, Key> {
        Cow::Borrowed(self)
    }
}

impl Keyed for str {
    fn key(&self) -> Cow<'_, Key> {
        Cow::Owned(raw_key(self))
    }
}

impl Keyed for String {
    fn key(&self) -> Cow<'_, Key> {
        Cow::Owned(raw_key(self))
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Key {}
    impl Sealed for str {}
    impl Sealed for String {}
}

/// The key of a text that a person wrote, as [`Key::raw`]; a text that is empty or over 512 bytes is replaced by its
/// SHA-256, so that every text has a key and two texts never share one.
///
/// The text between the first `{` and the next `}` places the key: do not build it from what strangers send.
pub fn raw_key(text: &str) -> Key {
    Key::raw(text.as_bytes()).unwrap_or_else(|_| digest(text.as_bytes()))
}

fn digest(text: &[u8]) -> Key {
    let mut marked = vec![DIGEST_MARKER];
    marked.extend_from_slice(&Sha256::digest(text));
    Key::new(&marked, &marked).expect("33 bytes are a key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_raw_key_of_its_bytes() {
        assert_eq!(raw_key("a{b}c"), Key::raw(b"a{b}c").unwrap());
        assert_eq!(*"a{b}c".key(), raw_key("a{b}c"));
    }

    #[test]
    fn every_text_has_a_key_of_its_own() {
        let long = |last| "x".repeat(600) + last;
        assert_eq!(raw_key(&long("a")), raw_key(&long("a")));
        assert_ne!(raw_key(&long("a")), raw_key(&long("b")));
        assert_eq!(raw_key("").as_ref().rest()[0], DIGEST_MARKER);
        assert_eq!(raw_key(&long("a")).as_ref().rest().len(), 33);
    }
}
