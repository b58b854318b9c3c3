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

use sha2::{Digest, Sha256};
use smallvec::SmallVec;

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
    fn value<'f>(&'f self, facts: &'f Facts<'_>) -> Option<&'f str> {
        match self {
            KeyPart::Client => facts.client,
            KeyPart::Tenant => facts.tenant,
            KeyPart::Tier => facts.tier,
            KeyPart::Ip => facts.ip(),
            KeyPart::Route(pattern) => Some(pattern),
            KeyPart::Path => Some(facts.path),
            KeyPart::Method => Some(facts.method),
            KeyPart::Header(name) => facts.header(name),
            KeyPart::Attribute(name) => facts.attribute(name),
        }
    }

    /// Whether a request has a value for it.
    pub(crate) fn is_there(&self, facts: &Facts<'_>) -> bool {
        match self {
            KeyPart::Ip => facts.address.is_some(),
            part => part.value(facts).is_some(),
        }
    }

    /// Its name behind its length.
    fn encoded_name(&self) -> Bytes {
        let mut out = Bytes::new();
        match self {
            KeyPart::Client => put_text(&mut out, &[b"client"]),
            KeyPart::Tenant => put_text(&mut out, &[b"tenant"]),
            KeyPart::Tier => put_text(&mut out, &[b"tier"]),
            KeyPart::Ip => put_text(&mut out, &[b"ip"]),
            KeyPart::Route(_) => put_text(&mut out, &[b"route"]),
            KeyPart::Path => put_text(&mut out, &[b"path"]),
            KeyPart::Method => put_text(&mut out, &[b"method"]),
            KeyPart::Header(name) => put_text(&mut out, &[b"header:", name.as_bytes()]),
            KeyPart::Attribute(name) => put_text(&mut out, &[b"attr:", name.as_bytes()]),
        }
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

/// Room for the longest plain key.
type Bytes = SmallVec<[u8; KEY_BYTES_MAX]>;

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
        let mut beginning = Bytes::from_slice(&[PLAIN]);
        put_text(&mut beginning, &[rule.as_bytes()]);
        KeyRecipe {
            rule: rule.into(),
            beginning: beginning[..].into(),
            names: parts.iter().map(|part| part.encoded_name()[..].into()).collect(),
            in_place: ip_for_missing.then(|| KeyPart::Ip.encoded_name()[..].into()),
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

    /// The key of a request that the recipe applies to.
    pub(crate) fn key(&self, facts: &Facts<'_>) -> Key {
        let mut rest = Bytes::from_slice(&self.beginning);
        let mut tag: (u8, &str) = (u8::MAX, &self.rule);
        for (part, name) in self.parts.iter().zip(&self.names) {
            let (part, name, value) = match part.value(facts) {
                Some(value) => (part, &**name, value),
                None => self.address(facts),
            };
            rest.extend_from_slice(name);
            put_value(&mut rest, value);
            tag = part.tag_order().map_or(tag, |order| if order < tag.0 { (order, value) } else { tag });
        }
        shorten(&mut rest);
        with_tag(tag.1, &rest)
    }

    /// The address in the place of a part that the request lacks.
    fn address<'f>(&'f self, facts: &'f Facts<'_>) -> (&'f KeyPart, &'f [u8], &'f str) {
        let found = self.in_place.as_ref().zip(facts.ip());
        let (name, value) = found.expect("whether the recipe applies was asked before");
        (&KeyPart::Ip, name, value)
    }
}

/// Appends texts as one behind their common length.
fn put_text(out: &mut Bytes, texts: &[&[u8]]) {
    let len: usize = texts.iter().map(|text| text.len()).sum();
    out.extend_from_slice(&u16::try_from(len).expect("names and short values are bounded").to_le_bytes());
    texts.iter().for_each(|text| out.extend_from_slice(text));
}

fn put_value(out: &mut Bytes, value: &str) {
    if value.len() <= PART_BYTES_MAX {
        out.push(VALUE_PLAIN);
        put_text(out, &[value.as_bytes()]);
    } else {
        out.extend_from_slice(&digest_of_value(value));
    }
}

fn digest_of_value(value: &str) -> [u8; 33] {
    marked_digest(VALUE_DIGEST, value.as_bytes())
}

fn marked_digest(marker: u8, bytes: &[u8]) -> [u8; 33] {
    let mut marked = [marker; 33];
    marked[1..].copy_from_slice(&Sha256::digest(bytes));
    marked
}

/// Replaces a rest that no key can hold.
fn shorten(rest: &mut Bytes) {
    if rest.len() > KEY_BYTES_MAX {
        let digest = marked_digest(DIGEST, rest);
        rest.clear();
        rest.extend_from_slice(&digest);
    }
}

/// A tag is its value as it is, so that a raw key `{value}…` lies beside it.
fn with_tag(value: &str, rest: &[u8]) -> Key {
    let key = match value.len() {
        0..=PART_BYTES_MAX => Key::new(value.as_bytes(), rest),
        _ => Key::new(&digest_of_value(value), rest),
    };
    key.expect("a tag and a rest are shorter than their bounds")
}
