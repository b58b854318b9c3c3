//! Values by name: the headers of a request, or what the application says about it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use tallyring_protocol::rules::Lookup;

use super::text::Text;

/// Names of one request; its body is short, and each lookup looks at all of them.
const NAMES_MAX: usize = 128;

/// In the order they came; of several of one name the first is meant.
#[derive(Debug, Default)]
struct Names<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

/// Headers: rules spell their names in lower case, and requests as they like.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Headers<'a>(#[serde(borrow)] Names<'a>);

/// What the application says: names have no other form than their own.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Attributes<'a>(#[serde(borrow)] Names<'a>);

impl Lookup for Headers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.find(|known| known.eq_ignore_ascii_case(name))
    }
}

impl Lookup for Attributes<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.find(|known| known == name)
    }
}

impl Names<'_> {
    fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<&str> {
        self.0.iter().find(|(known, _)| is_it(known)).map(|(_, value)| &**value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Names<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Names<'a>, D::Error> {
        from.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of up to {NAMES_MAX} texts")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Names<'de>, M::Error> {
        let mut names = Vec::new();
        while let Some((Text(name), Text(value))) = map.next_entry()? {
            if names.len() == NAMES_MAX {
                return Err(M::Error::custom(format_args!("more than {NAMES_MAX} names")));
            }
            names.push((name, value));
        }
        Ok(Names(names))
    }
}
