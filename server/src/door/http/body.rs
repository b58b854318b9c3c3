//! Bodies in JSON: bounded, read whole, and if they are wrong the wrong field is named.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;

use super::problem::Problem;

/// Longest body of a question, in bytes: sixteen checks of the longest keys, every character escaped, fit.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1_024;

/// What stands for the whole body where a path is expected.
pub(super) const WHOLE: &str = "body";

/// Reads the body of a request whole.
pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    check_content_type(headers)?;
    to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| {
        let detail = format!("the body broke off, or has more than {BODY_BYTES_MAX} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    })
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(said) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let said = said.to_str().unwrap_or("").split(';').next().unwrap_or("").trim();
    // What curl and urllib say of any body counts as none.
    if said.eq_ignore_ascii_case("application/json") || said == "application/x-www-form-urlencoded" {
        return Ok(());
    }
    let detail = format!("Content-Type: {said:?} is not application/json");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// Reads the fields of a JSON object.
pub(super) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    // A struct may be read from a list, too, and then nobody sees which value is which.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::field(WHOLE, "not a JSON object"));
    }
    serde_json::from_slice(body).map_err(|_| explain::<T>(body))
}

/// Reads it again, slower, to see where it goes wrong.
#[cold]
fn explain<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Problem {
    let mut json = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Ok(_) => Problem::field(WHOLE, "something follows the JSON object"),
        Err(error) => {
            let path = error.path().to_string();
            let path = if path == "." { WHOLE } else { &path };
            Problem::field(path, error.inner().to_string())
        }
    }
}
