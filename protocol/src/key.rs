//! Keys: what is limited, where it lives, and how it is known there.
//!
//! A key is a *tag* and a *rest*. The tag alone decides placement, so everything of one tenant shares a shard and can be
//! decided together. On the wire, and under the identity hash, a key is one block: the tag's length in two bytes, the
//! tag, the rest. Lengths before parts make the block injective: no two (tag, rest) pairs share one.

use std::hash::Hasher as _;

use smallvec::SmallVec;

use crate::bounds::KEY_BYTES_MAX;
use crate::code::AlgorithmCode;
use crate::fields::Malformed;
use crate::sip::Sip;

/// A key that is too long or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("key: {len} bytes is not in 1 ..= {KEY_BYTES_MAX}")]
pub struct KeyError {
    /// The length that came, in bytes.
    pub len: usize,
}

/// An owned key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(Box<[u8]>);

impl Key {
    /// The key with this `tag`, which places it, and this `rest`.
    ///
    /// # Errors
    /// [`KeyError`] if the rest is empty or either is over 512 bytes.
    pub fn new(tag: &[u8], rest: &[u8]) -> Result<Key, KeyError> {
        if rest.is_empty() || rest.len() > KEY_BYTES_MAX {
            return Err(KeyError { len: rest.len() });
        }
        let Some(tag_len) = u16::try_from(tag.len()).ok().filter(|_| tag.len() <= KEY_BYTES_MAX) else {
            return Err(KeyError { len: tag.len() });
        };
        let mut block = Vec::with_capacity(2 + tag.len() + rest.len());
        block.extend_from_slice(&tag_len.to_le_bytes());
        block.extend_from_slice(tag);
        block.extend_from_slice(rest);
        Ok(Key(block.into_boxed_slice()))
    }

    /// The key that a person or a foreign protocol wrote: its tag is the text between the first `{` and the next `}` if
    /// that is not empty, else the whole key, as Redis Cluster does; its rest is the whole key.
    ///
    /// # Errors
    /// [`KeyError`] if it is empty or over 512 bytes.
    ///
    /// ```
    /// use tallyring_protocol::Key;
    /// let key = Key::raw(b"rl:{acct_7}:charges").unwrap();
    /// assert_eq!(key.as_ref().tag(), b"acct_7");
    /// assert_eq!(key.as_ref().rest(), b"rl:{acct_7}:charges");
    /// ```
    pub fn raw(text: &[u8]) -> Result<Key, KeyError> {
        Key::new(raw_tag(text), text)
    }

    /// The key of a block that was written as it has to be.
    pub(crate) fn of_block(block: Vec<u8>) -> Key {
        debug_assert!(KeyRef::from_block(&block).is_ok(), "a tag and a rest within their bounds");
        Key(block.into_boxed_slice())
    }

    /// The key, borrowed.
    #[allow(clippy::should_implement_trait, reason = "AsRef cannot return a view by value")]
    pub fn as_ref(&self) -> KeyRef<'_> {
        KeyRef::of_block(&self.0)
    }
}

/// The part of a raw key that places it.
fn raw_tag(text: &[u8]) -> &[u8] {
    let braced = text.iter().position(|b| *b == b'{').and_then(|open| {
        let inside = &text[open + 1..];
        inside.iter().position(|b| *b == b'}').map(|close| &inside[..close])
    });
    braced.filter(|tag| !tag.is_empty()).unwrap_or(text)
}

/// Bytes of a raw key's block that need no allocation.
const RAW_BLOCK_BYTES: usize = 160;

/// A raw key for the time of one command: as [`Key::raw`], without an allocation unless it is long.
///
/// ```
/// use tallyring_protocol::{Key, RawKey};
/// let raw = RawKey::new(b"rl:{acct_7}:charges").unwrap();
/// assert_eq!(raw.as_ref(), Key::raw(b"rl:{acct_7}:charges").unwrap().as_ref());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawKey(SmallVec<[u8; RAW_BLOCK_BYTES]>);

impl RawKey {
    /// The key that this text is.
    ///
    /// # Errors
    /// [`KeyError`] if it is empty or over 512 bytes.
    #[inline]
    pub fn new(text: &[u8]) -> Result<RawKey, KeyError> {
        if text.is_empty() || text.len() > KEY_BYTES_MAX {
            return Err(KeyError { len: text.len() });
        }
        let tag = raw_tag(text);
        let mut block = SmallVec::new();
        block.extend_from_slice(&(tag.len() as u16).to_le_bytes());
        block.extend_from_slice(tag);
        block.extend_from_slice(text);
        Ok(RawKey(block))
    }

    /// The key, borrowed.
    #[allow(clippy::should_implement_trait, reason = "AsRef cannot return a view by value")]
    pub fn as_ref(&self) -> KeyRef<'_> {
        KeyRef::of_block(&self.0)
    }
}

/// A key, borrowed from a frame or from a [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRef<'a> {
    block: &'a [u8],
    tag_len: u16,
}

impl<'a> KeyRef<'a> {
    /// The key of a block that was written here.
    #[inline]
    fn of_block(block: &'a [u8]) -> KeyRef<'a> {
        let [t0, t1, ..] = *block else { unreachable!("a key's block begins with the length of its tag") };
        KeyRef { block, tag_len: u16::from_le_bytes([t0, t1]) }
    }

    /// Reads a key's block, which must end with `block`.
    ///
    /// # Errors
    /// [`Malformed`] with field `key`.
    #[inline]
    pub fn from_block(block: &'a [u8]) -> Result<KeyRef<'a>, Malformed> {
        let Some((length, text)) = block.split_first_chunk::<2>() else {
            return Err(Malformed::new("key", "the frame ends before it"));
        };
        let tag_len = u16::from_le_bytes(*length);
        let tag = usize::from(tag_len);
        if tag > KEY_BYTES_MAX || tag >= text.len() || text.len() - tag > KEY_BYTES_MAX {
            return Err(Malformed::new("key", "its rest is 1 ..= 512 bytes behind a tag of 0 ..= 512"));
        }
        Ok(KeyRef { block, tag_len })
    }

    /// The part that places the key.
    pub fn tag(self) -> &'a [u8] {
        &self.block[2..2 + usize::from(self.tag_len)]
    }

    /// The part that tells apart the keys of one tag.
    pub fn rest(self) -> &'a [u8] {
        &self.block[2 + usize::from(self.tag_len)..]
    }

    /// The key as it stands in a frame.
    pub fn block(self) -> &'a [u8] {
        self.block
    }

    /// A copy that owns its bytes.
    pub fn to_key(self) -> Key {
        Key(self.block.into())
    }
}

/// The seed of placement: every member of the cluster and every client that may connect knows it, nobody else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PlacementSeed(pub [u8; 16]);

/// A place on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement(pub u64);

impl PlacementSeed {
    /// Where a key lives: SipHash-1-3 of its tag.
    #[inline]
    pub fn place(&self, key: KeyRef<'_>) -> Placement {
        Placement(Sip::new(&self.0).hash(key.tag()))
    }

    /// SipHash-1-3 of any bytes under this seed: ring points are drawn by it.
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        Sip::new(&self.0).hash(bytes)
    }

    /// The seed as 32 hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The seed that 32 hexadecimal digits spell.
    pub fn from_hex(text: &str) -> Option<PlacementSeed> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut seed = [0; 16];
        for (byte, at) in seed.iter_mut().zip((0..32).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(PlacementSeed(seed))
    }
}

impl std::fmt::Debug for PlacementSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlacementSeed(..)") // whoever can read a log must not learn to choose placements
    }
}

/// The key of the identity hash. Nodes alone know it, so that no client can choose two keys that share a counter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IdentityKey(pub [u8; 16]);

impl std::fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdentityKey(..)")
    }
}

/// Hashes a key under an algorithm to the 64 bits it is known by inside its place: state belongs to (key, algorithm).
///
/// Each algorithm has a hash key of its own, derived from the [`IdentityKey`]; so the block is hashed where it lies in
/// the frame, without a copy that would put the algorithm in front.
///
/// Reservations and holders, which belong to a key, are known by a hash of their name and its block, under two more.
#[derive(Clone)]
pub struct IdentityHasher {
    algorithms: [Sip; AlgorithmCode::ALL.len()],
    reservations: Sip,
    holders: Sip,
}

impl std::fmt::Debug for IdentityHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdentityHasher(..)")
    }
}

/// What stands for reservations where a hash key is derived: far from every algorithm's number.
const RESERVATIONS: u8 = 0x80;
/// What stands for holders.
const HOLDERS: u8 = 0x81;

impl IdentityHasher {
    /// Derives the hash keys.
    pub fn new(key: IdentityKey) -> IdentityHasher {
        let derive = |what: u8| Sip::of_words([0, 1].map(|half| Sip::new(&key.0).hash(&[what, half])));
        IdentityHasher {
            algorithms: AlgorithmCode::ALL.map(|algorithm| derive(algorithm as u8)),
            reservations: derive(RESERVATIONS),
            holders: derive(HOLDERS),
        }
    }

    /// The identity of `key` under `algorithm`.
    #[inline]
    pub fn identity(&self, key: KeyRef<'_>, algorithm: AlgorithmCode) -> u64 {
        self.algorithms[algorithm as usize - 1].hash(key.block())
    }

    /// The identity of the reservation of `key` with this id.
    pub fn reservation(&self, key: KeyRef<'_>, id: &[u8]) -> u64 {
        named(self.reservations, id, key)
    }

    /// The identity of the holder of `key` with this name.
    pub fn holder(&self, key: KeyRef<'_>, name: &[u8]) -> u64 {
        named(self.holders, name, key)
    }
}

/// The hash of a name behind its length, then the key's block: no two pairs look alike.
fn named(sip: Sip, name: &[u8], key: KeyRef<'_>) -> u64 {
    let mut hasher = sip.hasher();
    let len = u16::try_from(name.len()).expect("names are bounded far below 65,536 bytes");
    hasher.write(&len.to_le_bytes());
    hasher.write(name);
    hasher.write(key.block());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_tag(raw: &str, tag: &str) {
        let key = Key::raw(raw.as_bytes()).unwrap();
        assert_eq!(key.as_ref().tag(), tag.as_bytes(), "{raw}");
        assert_eq!(key.as_ref().rest(), raw.as_bytes());
    }

    #[test]
    fn a_raw_key_is_placed_by_its_first_braces() {
        check_tag("plain", "plain");
        check_tag("{a}b", "a");
        check_tag("x{a}{b}", "a");
        check_tag("x{}y", "x{}y");
        check_tag("x{open", "x{open");
        check_tag("x}a{b}", "b");
        check_tag("{{a}}", "{a");
    }

    #[test]
    fn a_raw_key_is_the_same_with_and_without_an_allocation() {
        for len in [1, 100, RAW_BLOCK_BYTES, 512] {
            let text = [b"{tag}".repeat(103), vec![b'x'; 512]].concat();
            let text = &text[..len];
            assert_eq!(RawKey::new(text).unwrap().as_ref(), Key::raw(text).unwrap().as_ref());
        }
        assert_eq!(RawKey::new(b""), Err(KeyError { len: 0 }));
        assert_eq!(RawKey::new(&[b'x'; 513]), Err(KeyError { len: 513 }));
    }

    #[test]
    fn a_key_is_one_to_five_hundred_and_twelve_bytes() {
        assert_eq!(Key::raw(b""), Err(KeyError { len: 0 }));
        assert_eq!(Key::raw(&[b'x'; 513]), Err(KeyError { len: 513 }));
        assert!(Key::raw(&[b'x'; 512]).is_ok());
        assert_eq!(Key::new(&[b'x'; 513], b"y"), Err(KeyError { len: 513 }));
    }

    #[test]
    fn a_block_with_an_impossible_tag_is_malformed() {
        for block in [&[][..], &[0], &[0, 0], &[1, 0, b'a'], &[2, 0, b'a'], &[0xFF, 0xFF, b'a']] {
            assert_eq!(KeyRef::from_block(block).unwrap_err().field, "key", "{block:?}");
        }
        assert_eq!(KeyRef::from_block(&[1, 0, b'a', b'b']).unwrap().rest(), b"b");
    }

    #[test]
    fn the_same_text_split_elsewhere_is_another_identity() {
        let hasher = IdentityHasher::new(IdentityKey([7; 16]));
        let id = |tag: &str, rest: &str| {
            let key = Key::new(tag.as_bytes(), rest.as_bytes()).unwrap();
            hasher.identity(key.as_ref(), AlgorithmCode::TokenBucket)
        };
        assert_ne!(id("ab", "c"), id("a", "bc"));
        assert_eq!(id("ab", "c"), id("ab", "c"));
    }

    #[test]
    fn each_algorithm_has_its_own_identity() {
        let hasher = IdentityHasher::new(IdentityKey([7; 16]));
        let key = Key::raw(b"k").unwrap();
        let ids: std::collections::BTreeSet<u64> =
            AlgorithmCode::ALL.iter().map(|a| hasher.identity(key.as_ref(), *a)).collect();
        assert_eq!(ids.len(), 6);
    }

    #[test]
    fn a_name_belongs_to_its_key_and_its_kind() {
        let hasher = IdentityHasher::new(IdentityKey([7; 16]));
        let (short, long) = (Key::new(b"", b"bc").unwrap(), Key::new(b"", b"c").unwrap());
        let ids = [
            hasher.reservation(short.as_ref(), b"a"),
            hasher.reservation(long.as_ref(), b"a"),
            hasher.reservation(long.as_ref(), b"ab"),
            hasher.holder(long.as_ref(), b"a"),
            hasher.identity(long.as_ref(), AlgorithmCode::Concurrency),
        ];
        assert_eq!(std::collections::BTreeSet::from(ids).len(), ids.len());
        // As another implementation says: tests/python/native_client.py.
        assert_eq!((ids[1], ids[3]), (0xe313_d478_8048_af0e, 0x9b40_a8d2_7773_35c3));
    }

    #[test]
    fn a_seed_survives_its_hexadecimal_form() {
        let seed = PlacementSeed(std::array::from_fn(|i| i as u8 * 16 + 3));
        assert_eq!(PlacementSeed::from_hex(&seed.to_hex()), Some(seed));
        assert_eq!(PlacementSeed::from_hex("00"), None);
        assert_eq!(PlacementSeed::from_hex(&"+1".repeat(16)), None);
    }
}
