//! Who may do what: tokens, known here only by their SHA-256.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tallyring_protocol::Role;

/// Tokens of one role that are valid at once: the old one and the new one, while they are being exchanged.
pub const TOKENS_PER_ROLE_MAX: usize = 2;

/// The SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a token.
    pub fn of(token: &str) -> TokenHash {
        TokenHash(Sha256::digest(token.as_bytes()).into())
    }

    /// The hash that 64 hexadecimal digits spell.
    pub fn from_hex(text: &str) -> Option<TokenHash> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut hash = [0; 32];
        for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(TokenHash(hash))
    }
}

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// The tokens that a node accepts.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// Tokens of gateways.
    pub client: Vec<TokenHash>,
    /// Tokens of operators.
    pub admin: Vec<TokenHash>,
}

impl Tokens {
    /// Whether anybody may do anything: no token was configured. Only sensible on loopback.
    pub fn open(&self) -> bool {
        self.client.is_empty() && self.admin.is_empty()
    }

    /// What `token` entitles to; `None` if it is none of ours. Takes as long for any token of the same length.
    pub fn role_of(&self, token: &str) -> Option<Role> {
        if self.open() {
            return Some(Role::Admin);
        }
        let hash = TokenHash::of(token);
        let known = |hashes: &[TokenHash]| hashes.iter().fold(false, |known, h| known | bool::from(h.0.ct_eq(&hash.0)));
        let (admin, client) = (known(&self.admin), known(&self.client));
        match (admin, client) {
            (true, _) => Some(Role::Admin),
            (false, true) => Some(Role::Client),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_has_its_role_and_strangers_have_none() {
        let tokens = Tokens { client: vec![TokenHash::of("c1"), TokenHash::of("c2")], admin: vec![TokenHash::of("a")] };
        assert_eq!(tokens.role_of("c1"), Some(Role::Client));
        assert_eq!(tokens.role_of("c2"), Some(Role::Client));
        assert_eq!(tokens.role_of("a"), Some(Role::Admin));
        assert_eq!(tokens.role_of(""), None);
        assert_eq!(tokens.role_of("c"), None);
    }

    #[test]
    fn without_tokens_everybody_is_an_admin() {
        assert_eq!(Tokens::default().role_of("whatever"), Some(Role::Admin));
    }

    #[test]
    fn a_hash_is_read_from_hexadecimal() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, appendix B.1
        assert_eq!(TokenHash::from_hex(abc), Some(TokenHash::of("abc")));
        assert_eq!(TokenHash::from_hex("ba78"), None);
    }
}
