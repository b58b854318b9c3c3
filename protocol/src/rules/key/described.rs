//! A rule's key read back, for people.

use std::fmt;

use super::{PLAIN, VALUE_DIGEST, VALUE_PLAIN};

/// What stands in the rest of a rule's key.
///
/// ```
/// use tallyring_protocol::rules::{DescribedKey, RuleSet, Subject};
/// let json = br#"{"rule":[{"id":"r","key":["client","method"],"algorithm":"gcra","limit":1,"window":"1s"}]}"#;
/// let rules = RuleSet::from_json(json).unwrap();
/// let subject = Subject { client: Some("cust_42"), ..Subject::new("GET", "/") };
/// let key = &rules.resolve(&subject).enforced[0].key;
/// let described = DescribedKey::read(key.as_ref().rest()).unwrap();
/// assert_eq!((described.rule, &*described.to_string()), ("r", "client=cust_42 method=GET"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedKey<'k> {
    /// The rule's id.
    pub rule: &'k str,
    /// What it counts apart, by name.
    pub parts: Vec<(&'k str, DescribedValue<'k>)>,
}

/// The value of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribedValue<'k> {
    /// As it was.
    Text(&'k str),
    /// Its SHA-256: it was too long.
    Digest(&'k [u8; 32]),
}

impl<'k> DescribedKey<'k> {
    /// Reads the rest of a key; `None` if no rule built it, or if only a digest of it was kept.
    pub fn read(rest: &'k [u8]) -> Option<DescribedKey<'k>> {
        let mut rest = rest.strip_prefix(&[PLAIN])?;
        let rule = text(&mut rest)?;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            parts.push((text(&mut rest)?, value(&mut rest)?));
        }
        Some(DescribedKey { rule, parts })
    }
}

fn text<'k>(rest: &mut &'k [u8]) -> Option<&'k str> {
    let (len, behind) = rest.split_first_chunk::<2>()?;
    let (text, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    *rest = behind;
    std::str::from_utf8(text).ok()
}

fn value<'k>(rest: &mut &'k [u8]) -> Option<DescribedValue<'k>> {
    let (marker, behind) = rest.split_first()?;
    *rest = behind;
    match *marker {
        VALUE_PLAIN => text(rest).map(DescribedValue::Text),
        VALUE_DIGEST => {
            let (digest, behind) = rest.split_first_chunk::<32>()?;
            *rest = behind;
            Some(DescribedValue::Digest(digest))
        }
        _ => None,
    }
}

/// The value alone if there is one part; `(all)` if there is none.
impl fmt::Display for DescribedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parts[..] {
            [] => f.write_str("(all)"),
            [(_, value)] => value.fmt(f),
            parts => parts.iter().enumerate().try_for_each(|(at, (name, value))| {
                let space = if at == 0 { "" } else { " " };
                write!(f, "{space}{name}={value}")
            }),
        }
    }
}

impl fmt::Display for DescribedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Bytes of a digest that tell values apart to the eye.
        const DIGEST_BYTES_SHOWN: usize = 8;
        match self {
            DescribedValue::Text(text) => f.write_str(text),
            DescribedValue::Digest(digest) => {
                f.write_str("sha256:")?;
                digest[..DIGEST_BYTES_SHOWN].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("…")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rules_key_is_not_described() {
        for rest in [&b""[..], b"rl:acct", &[2; 33], &[1], &[1, 5, 0, b'r'], &[1, 1, 0, b'r', 0], &[1, 1, 0, 0xFF]] {
            assert_eq!(DescribedKey::read(rest), None, "{rest:?}");
        }
    }

    #[test]
    fn a_long_value_shows_the_beginning_of_its_digest() {
        let rest = [&[1, 1, 0, b'r', 6, 0][..], b"client", &[1], &[0xAB; 32]].concat();
        assert_eq!(DescribedKey::read(&rest).unwrap().to_string(), "sha256:abababababababab…");
        assert_eq!(DescribedKey::read(&[1, 1, 0, b'r']).unwrap().to_string(), "(all)");
    }
}
