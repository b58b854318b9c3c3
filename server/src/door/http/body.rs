//! Bodies in JSON: bounded, and read whole.

use super::problem::Problem;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};

/// Longest body of a question, in bytes: sixteen checks of the longest keys, every character escaped, fit.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1_024;

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
