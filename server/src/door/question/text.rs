//! Texts, borrowed from the body where nothing in them is escaped.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::event::ID_BYTES_MAX;

/// A text.
#[derive(Debug, Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text<'a>, D::Error> {
        // By hand: a derived newtype hides the names of a map from whoever notes the path of an error.
        from.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

/// The id of a reservation.
#[derive(Debug)]
pub(super) struct Id<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Id<'a>, D::Error> {
        let Text(text) = Text::deserialize(from)?;
        match text.len() {
            1..=ID_BYTES_MAX => Ok(Id(text)),
            len => Err(Error::custom(format_args!("{len} bytes is not in 1 ..= {ID_BYTES_MAX}"))),
        }
    }
}
