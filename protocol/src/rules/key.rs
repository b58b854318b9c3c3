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

use sha2::{Digest, Sha256};
use smallvec::SmallVec;

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
    fn value<'a>(&'a self, facts: &Facts<'a>) -> Option<&'a str> {
        match self {
            KeyPart::Client => facts.client,
            KeyPart::Tenant => facts.tenant,
            KeyPart::Tier => facts.tier,
            KeyPart::Ip => facts.ip,
            KeyPart::Route(pattern) => Some(pattern),
            KeyPart::Path => Some(facts.path),
            KeyPart::Method => Some(facts.method),
            KeyPart::Header(name) => facts.header(name),
            KeyPart::Attribute(name) => facts.attribute(name),
        }
    }

    fn put_name(&self, out: &mut Bytes) {
        match self {
            KeyPart::Client => put_text(out, &[b"client"]),
            KeyPart::Tenant => put_text(out, &[b"tenant"]),
            KeyPart::Tier => put_text(out, &[b"tier"]),
            KeyPart::Ip => put_text(out, &[b"ip"]),
            KeyPart::Route(_) => put_text(out, &[b"route"]),
            KeyPart::Path => put_text(out, &[b"path"]),
            KeyPart::Method => put_text(out, &[b"method"]),
            KeyPart::Header(name) => put_text(out, &[b"header:", name.as_bytes()]),
            KeyPart::Attribute(name) => put_text(out, &[b"attr:", name.as_bytes()]),
        }
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
    /// Whether the address stands in for a part that a request lacks.
    ip_for_missing: bool,
}

impl KeyRecipe {
    pub(crate) fn new(rule: &str, parts: Vec<KeyPart>, ip_for_missing: bool) -> KeyRecipe {
        KeyRecipe { rule: rule.into(), parts: parts.into(), ip_for_missing }
    }

    pub(crate) fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Whether a request has all that the key is made of. If not, the rule is not for it: there is no bucket for nobody.
    pub(crate) fn applies(&self, facts: &Facts<'_>) -> bool {
        self.parts.iter().all(|part| self.found(part, facts).is_some())
    }

    /// The key of a request that the recipe applies to.
    pub(crate) fn key(&self, facts: &Facts<'_>) -> Key {
        let mut rest = Bytes::new();
        rest.push(PLAIN);
        put_text(&mut rest, &[self.rule.as_bytes()]);
        let mut tag: (u8, &str) = (u8::MAX, &self.rule);
        for part in &self.parts {
            let (part, value) = self.found(part, facts).expect("whether it applies was asked before");
            part.put_name(&mut rest);
            put_value(&mut rest, value);
            tag = part.tag_order().map_or(tag, |order| if order < tag.0 { (order, value) } else { tag });
        }
        shorten(&mut rest);
        Key::new(&tag_of(tag.1), &rest).expect("a tag and a rest are shorter than their bounds")
    }

    /// The part and its value, or the address in its place.
    fn found<'a>(&'a self, part: &'a KeyPart, facts: &Facts<'a>) -> Option<(&'a KeyPart, &'a str)> {
        let in_place = || if self.ip_for_missing { facts.ip.map(|ip| (&KeyPart::Ip, ip)) } else { None };
        part.value(facts).map(|value| (part, value)).or_else(in_place)
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
fn tag_of(value: &str) -> Bytes {
    if value.len() <= PART_BYTES_MAX {
        Bytes::from_slice(value.as_bytes())
    } else {
        Bytes::from_slice(&digest_of_value(value))
    }
}
