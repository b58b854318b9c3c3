//! Texts, borrowed from the body where nothing in them is escaped.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error};

use crate::event::ID_BYTES_MAX;

/// A text.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

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
