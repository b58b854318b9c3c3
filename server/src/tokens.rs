//! Who may do what: tokens, known here only by their SHA-256.

pub mod file;
mod live;
mod secret;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tallyring_protocol::Role;

pub use self::live::LiveTokens;
pub use self::secret::Secret;

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
    /// Tokens of the cluster's nodes. They open none of the doors for gateways and operators.
    pub peer: Vec<TokenHash>,
    /// Tokens of operators.
    pub admin: Vec<TokenHash>,
}

/// What somebody came in by: it may be looked at again when other tokens are valid.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// What it entitles to.
    pub role: Role,
    /// The token; `None` = no token was asked for.
    token: Option<TokenHash>,
}

/// Tokens that make no sense together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokensError {
    /// Nobody could connect.
    #[error("it names no token, so nobody could connect")]
    Nobody,
    /// More than two of a role.
    #[error("{role}: {count} tokens, at most {TOKENS_PER_ROLE_MAX} are valid at once")]
    TooMany {
        /// The role.
        role: &'static str,
        /// Its tokens.
        count: usize,
    },
    /// A token of two roles.
    #[error("{one} and {other}: one token is in both, so it would be of the mightier role")]
    Shared {
        /// A role.
        one: &'static str,
        /// Another one.
        other: &'static str,
    },
}

impl Tokens {
    /// Whether anybody may do anything: no token was configured. Only sensible on loopback.
    pub fn open(&self) -> bool {
        self.client.is_empty() && self.peer.is_empty() && self.admin.is_empty()
    }

    /// Looks at what only makes sense together.
    ///
    /// # Errors
    /// [`TokensError`].
    pub fn validate(&self) -> Result<(), TokensError> {
        let roles = [("client", &self.client), ("peer", &self.peer), ("admin", &self.admin)];
        if let Some((role, hashes)) = roles.into_iter().find(|(_, hashes)| hashes.len() > TOKENS_PER_ROLE_MAX) {
            return Err(TokensError::TooMany { role, count: hashes.len() });
        }
        for (at, (one, hashes)) in roles.into_iter().enumerate() {
            let shared = roles[at + 1..].iter().find(|(_, others)| hashes.iter().any(|hash| others.contains(hash)));
            if let Some((other, _)) = shared {
                return Err(TokensError::Shared { one, other });
            }
        }
        if self.open() { Err(TokensError::Nobody) } else { Ok(()) }
    }

    /// What somebody with `token` comes in by; `None` if it is none of ours, or a peer's. Takes as long for any token of
    /// the same length.
    pub fn pass_of(&self, token: &str) -> Option<Pass> {
        if self.open() {
            return Some(Pass { role: Role::Admin, token: None });
        }
        let hash = TokenHash::of(token);
        self.role_of_hash(&hash).map(|role| Pass { role, token: Some(hash) })
    }

    /// What `token` entitles to, as [`Tokens::pass_of`] finds it.
    pub fn role_of(&self, token: &str) -> Option<Role> {
        self.pass_of(token).map(|pass| pass.role)
    }

    /// Whether `token` is another node's.
    pub fn is_peer(&self, token: &str) -> bool {
        is_among(&TokenHash::of(token), &self.peer)
    }

    /// Whether somebody who came in by `pass` could do so now, and be entitled to the same.
    pub fn allows(&self, pass: &Pass) -> bool {
        match &pass.token {
            None => self.open(),
            Some(hash) => self.role_of_hash(hash) == Some(pass.role),
        }
    }

    fn role_of_hash(&self, hash: &TokenHash) -> Option<Role> {
        let (admin, client) = (is_among(hash, &self.admin), is_among(hash, &self.client));
        match (admin, client) {
            (true, _) => Some(Role::Admin),
            (false, true) => Some(Role::Client),
            (false, false) => None,
        }
    }
}

/// Compared with every one, each in constant time: the time says neither whether it is there nor where.
fn is_among(hash: &TokenHash, hashes: &[TokenHash]) -> bool {
    hashes.iter().fold(false, |known, other| known | bool::from(other.0.ct_eq(&hash.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(client: &[&str], peer: &[&str], admin: &[&str]) -> Tokens {
        let hashes = |tokens: &[&str]| tokens.iter().map(|token| TokenHash::of(token)).collect();
        Tokens { client: hashes(client), peer: hashes(peer), admin: hashes(admin) }
    }

    #[test]
    fn each_token_has_its_role_and_strangers_have_none() {
        let tokens = tokens(&["c1", "c2"], &["p"], &["a"]);
        assert_eq!(tokens.role_of("c1"), Some(Role::Client));
        assert_eq!(tokens.role_of("c2"), Some(Role::Client));
        assert_eq!(tokens.role_of("a"), Some(Role::Admin));
        assert_eq!(tokens.role_of(""), None);
        assert_eq!(tokens.role_of("c"), None);
        assert_eq!(tokens.role_of("p"), None, "a node's token is none for a gateway");
        assert!(tokens.is_peer("p") && !tokens.is_peer("a"));
    }

    #[test]
    fn a_pass_ends_with_its_token_and_with_its_role() {
        let (old, new) = (tokens(&["c1"], &[], &["a"]), tokens(&["c2"], &[], &["c1"]));
        let (client, admin) = (old.pass_of("c1").unwrap(), old.pass_of("a").unwrap());
        assert!(old.allows(&client) && old.allows(&admin));
        assert!(!new.allows(&admin), "its token is gone");
        assert!(!new.allows(&client), "its token is another role's now");
        let anybody = Tokens::default().pass_of("").unwrap();
        assert!(Tokens::default().allows(&anybody) && !new.allows(&anybody));
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
