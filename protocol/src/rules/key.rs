//! The key of a rule: what it counts apart, in bytes that no two different requests share.
//!
//! ```text
//! key   = 01, text(rule id), part*         ; as it is up to 512 bytes, else 02, SHA-256(that)
//! part  = text(name), value
//! value = 00, text(value)                  ; up to 256 bytes
//!       | 01, SHA-256(value)               ; longer
//! text  = length (two bytes, little-endian), bytes
//! tag   = the first of tenant, client, ip among the parts, or its value's second form; else the rule id
//! ```
//!
//! Lengths stand before what they measure, so that parts cannot be confused, and the rule's id is in it, so that two rules
//! never share a counter. The tag alone places the key: the rules of one identity share a shard.

mod described;

use std::borrow::Cow;

use sha2::{Digest, Sha256};

pub use self::described::{DescribedKey, DescribedValue};
use super::facts::Facts;
use crate::bounds::KEY_BYTES_MAX;
use crate::key::Key;

/// Longest value that stands in a key as it is, in bytes.
pub const PART_BYTES_MAX: usize = 256;
/// Parts of one key.
pub const PARTS_OF_KEY_MAX: usize = 8;

/// The first byte of a key's rest: version 1 of this layout.
const PLAIN: u8 = 1;
/// The first byte of a key whose plain form would be too long.
const DIGEST: u8 = 2;
/// The byte before a value as it is.
const VALUE_PLAIN: u8 = 0;
/// The byte before the digest of a value.
const VALUE_DIGEST: u8 = 1;

/// Bytes of a length.
const LEN_BYTES: usize = 2;
/// Bytes of a digest behind its marker.
const DIGEST_BYTES: usize = 33;

/// What a rule counts apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyPart {
    /// Each client.
    Client,
    /// Each tenant.
    Tenant,
    /// Each tier.
    Tier,
    /// Each address; of IPv6 each prefix.
    Ip,
    /// The rule's pattern, whatever the path is.
    Route(Box<str>),
    /// Each path.
    Path,
    /// Each method.
    Method,
    /// Each value of the header of that name, in lower case.
    Header(Box<str>),
    /// Each value of the attribute of that name.
    Attribute(Box<str>),
}

impl KeyPart {
    /// The value of this part for a request, if it has one.
    fn value<'f>(&'f self, facts: &'f Facts<'_>) -> Option<&'f [u8]> {
        let text = match self {
            KeyPart::Ip => return facts.ip(),
            KeyPart::Client => facts.client,
            KeyPart::Tenant => facts.tenant,
            KeyPart::Tier => facts.tier,
            KeyPart::Route(pattern) => Some(&**pattern),
            KeyPart::Path => Some(facts.path),
            KeyPart::Method => Some(facts.method),
            KeyPart::Header(name) => facts.header(name),
            KeyPart::Attribute(name) => facts.attribute(name),
        };
        text.map(str::as_bytes)
    }

    /// Whether a request has a value for it.
    pub(crate) fn is_there(&self, facts: &Facts<'_>) -> bool {
        match self {
            KeyPart::Ip => facts.address.is_some(),
            part => part.value(facts).is_some(),
        }
    }

    /// Its name behind its length.
    fn encoded_name(&self) -> Vec<u8> {
        let name: Cow<'_, str> = match self {
            KeyPart::Client => "client".into(),
            KeyPart::Tenant => "tenant".into(),
            KeyPart::Tier => "tier".into(),
            KeyPart::Ip => "ip".into(),
            KeyPart::Route(_) => "route".into(),
            KeyPart::Path => "path".into(),
            KeyPart::Method => "method".into(),
            KeyPart::Header(name) => format!("header:{name}").into(),
            KeyPart::Attribute(name) => format!("attr:{name}").into(),
        };
        let mut out = Vec::new();
        put_text(&mut out, name.as_bytes());
        out
    }

    /// How early it is asked for the tag; `None` = never.
    fn tag_order(&self) -> Option<u8> {
        match self {
            KeyPart::Tenant => Some(0),
            KeyPart::Client => Some(1),
            KeyPart::Ip => Some(2),
            _ => None,
        }
    }
}

/// How a rule builds its keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyRecipe {
    rule: Box<str>,
    parts: Box<[KeyPart]>,
    /// What every key begins with: the version and the rule.
    beginning: Box<[u8]>,
    /// The parts' names as they stand in a key.
    names: Box<[Box<[u8]>]>,
    /// Whether the address stands in for a part that a request lacks, and its name.
    in_place: Option<Box<[u8]>>,
}

impl KeyRecipe {
    pub(crate) fn new(rule: &str, parts: Vec<KeyPart>, ip_for_missing: bool) -> KeyRecipe {
        let mut beginning = vec![PLAIN];
        put_text(&mut beginning, rule.as_bytes());
        KeyRecipe {
            rule: rule.into(),
            beginning: beginning.into(),
            names: parts.iter().map(|part| part.encoded_name().into()).collect(),
            in_place: ip_for_missing.then(|| KeyPart::Ip.encoded_name().into()),
            parts: parts.into(),
        }
    }

    pub(crate) fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Whether a request has all that the key is made of. If not, the rule is not for it: there is no bucket for nobody.
    pub(crate) fn applies(&self, facts: &Facts<'_>) -> bool {
        let in_place = self.in_place.is_some() && facts.address.is_some();
        self.parts.iter().all(|part| part.is_there(facts) || in_place)
    }

    /// Whether the address stands in for a part that a request lacks. No request lacks a method or a path.
    pub(crate) fn stands_in(&self, part: &KeyPart, facts: &Facts<'_>) -> bool {
        let may_lack = !matches!(part, KeyPart::Method | KeyPart::Path);
        may_lack && self.in_place.is_some() && facts.address.is_some()
    }

    /// The key of a request that the recipe applies to: written where it stays, in one allocation of its own size.
    pub(crate) fn key(&self, facts: &Facts<'_>) -> Key {
        let mut pieces = [Piece::NONE; PARTS_OF_KEY_MAX];
        let pieces = self.fill(&mut pieces, facts);
        let digest;
        let tag = match self.tag(pieces) {
            tag if tag.len() <= PART_BYTES_MAX => tag,
            long => {
                digest = digest_of_value(long);
                &digest
            }
        };
        let rest_len = self.beginning.len() + pieces.iter().map(Piece::len).sum::<usize>();
        let mut block = Vec::with_capacity(LEN_BYTES + tag.len() + rest_len);
        put_text(&mut block, tag);
        let rest_at = block.len();
        block.extend_from_slice(&self.beginning);
        pieces.iter().for_each(|piece| piece.put(&mut block));
        shorten(&mut block, rest_at);
        Key::of_block(block)
    }

    fn fill<'p, 'f>(&'f self, pieces: &'p mut [Piece<'f>], facts: &'f Facts<'_>) -> &'p [Piece<'f>] {
        let pieces = &mut pieces[..self.parts.len()];
        for ((piece, part), name) in pieces.iter_mut().zip(&self.parts).zip(&self.names) {
            *piece = match part.value(facts) {
                Some(value) => Piece { tag_order: part.tag_order(), name, value },
                None => self.address(facts),
            };
        }
        pieces
    }

    /// The address in the place of a part that the request lacks.
    fn address<'f>(&'f self, facts: &'f Facts<'_>) -> Piece<'f> {
        let found = self.in_place.as_ref().zip(facts.ip());
        let (name, value) = found.expect("whether the recipe applies was asked before");
        Piece { tag_order: KeyPart::Ip.tag_order(), name, value }
    }

    /// The value that places the key.
    fn tag<'f>(&'f self, pieces: &[Piece<'f>]) -> &'f [u8] {
        let first = pieces.iter().filter(|piece| piece.tag_order.is_some()).min_by_key(|piece| piece.tag_order);
        first.map_or(self.rule.as_bytes(), |piece| piece.value)
    }
}

/// A part of one key: what a request has for it.
#[derive(Clone, Copy)]
struct Piece<'f> {
    tag_order: Option<u8>,
    /// Behind its length.
    name: &'f [u8],
    value: &'f [u8],
}

impl Piece<'_> {
    const NONE: Piece<'static> = Piece { tag_order: None, name: &[], value: &[] };

    /// Bytes that it takes.
    fn len(&self) -> usize {
        self.name.len() + if self.is_long() { DIGEST_BYTES } else { 1 + LEN_BYTES + self.value.len() }
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.name);
        if self.is_long() {
            out.extend_from_slice(&digest_of_value(self.value));
        } else {
            out.push(VALUE_PLAIN);
            put_text(out, self.value);
        }
    }

    fn is_long(&self) -> bool {
        self.value.len() > PART_BYTES_MAX
    }
}

/// Appends a text behind its length.
#[inline]
fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&u16::try_from(text.len()).expect("names and short values are bounded").to_le_bytes());
    out.extend_from_slice(text);
}

fn digest_of_value(value: &[u8]) -> [u8; DIGEST_BYTES] {
    marked_digest(VALUE_DIGEST, value)
}

fn marked_digest(marker: u8, bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut marked = [marker; DIGEST_BYTES];
    marked[1..].copy_from_slice(&Sha256::digest(bytes));
    marked
}

/// Replaces a rest that no key can hold.
fn shorten(block: &mut Vec<u8>, rest_at: usize) {
    if block.len() - rest_at > KEY_BYTES_MAX {
        let digest = marked_digest(DIGEST, &block[rest_at..]);
        block.truncate(rest_at);
        block.extend_from_slice(&digest);
    }
}
