//! JSON objects from outside: if one is wrong, the wrong field is named.

use serde::Deserialize;

/// What stands for the whole body where a path is expected.
pub const WHOLE: &str = "body";

/// A field that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct BadField {
    /// Its path, `reserve.ttl_ms`; [`WHOLE`] for what is no object at all.
    pub path: String,
    /// What is wrong with it and what is allowed.
    pub reason: String,
}

impl BadField {
    /// The field of that path.
    pub fn new(path: &str, reason: impl Into<String>) -> BadField {
        BadField { path: path.to_owned(), reason: reason.into() }
    }
}

/// Reads the fields of a JSON object.
///
/// # Errors
/// The first field that is wrong.
pub fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, BadField> {
    // A struct may be read from a list, too, and then nobody sees which value is which.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(BadField::new(WHOLE, "not a JSON object"));
    }
    serde_json::from_slice(body).map_err(|_| explain::<T>(body))
}

/// Reads it again, slower, to see where it goes wrong.
#[cold]
fn explain<'a, T: Deserialize<'a>>(body: &'a [u8]) -> BadField {
    let mut json = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Ok(_) => BadField::new(WHOLE, "something follows the JSON object"),
        Err(error) => {
            let (path, reason) = (error.path().to_string(), error.inner().to_string());
            // A field may have no name at all, and the object itself is a dot.
            let path = if error.inner().is_data() && path != "." { path } else { String::new() };
            match (path.as_str(), said_twice(&reason)) {
                ("", None) => BadField::new(WHOLE, reason),
                (_, None) => BadField::new(&path, reason),
                ("", Some(field)) => BadField::new(field, "it is said twice"),
                (_, Some(field)) => BadField::new(&format!("{path}.{field}"), "it is said twice"),
            }
        }
    }
}

/// The field that an object has twice, of which only the reason says the name.
fn said_twice(reason: &str) -> Option<&str> {
    reason.strip_prefix("duplicate field `")?.split_once('`').map(|(field, _)| field)
}
