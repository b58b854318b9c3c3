//! Answers in JSON that end with a line's end: people read them in a terminal.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Bytes that most answers fit in.
const ANSWER_BYTES: usize = 256;

/// Something as a line of JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let content_type = HeaderValue::from_static("application/json");
        match line(&self.0) {
            Ok(line) => ([(header::CONTENT_TYPE, content_type)], line).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// A value in JSON, with the end of a line behind it.
///
/// # Errors
/// It cannot be written in JSON: none of ours is such.
pub(super) fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(ANSWER_BYTES);
    serde_json::to_writer(&mut line, value)?;
    line.push(b'\n');
    Ok(line)
}
