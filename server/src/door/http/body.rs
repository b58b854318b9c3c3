//! Bodies: bounded in size and time, and read whole.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::time::timeout;

use super::HttpDoor;
use super::caller::Reader;
use super::problem::Problem;

/// How long a body may take to arrive.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest body of a question, in bytes: sixteen checks of the longest keys, every character escaped, fit.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1_024;

/// The body of a question, of somebody who may ask.
pub(super) struct Sent(pub(super) Bytes);

impl FromRequest<Arc<HttpDoor>> for Sent {
    type Rejection = Problem;

    async fn from_request(request: Request, door: &Arc<HttpDoor>) -> Result<Sent, Problem> {
        let (mut parts, body) = request.into_parts();
        Reader::from_request_parts(&mut parts, door).await?;
        read(&parts.headers, body).await.map(Sent)
    }
}

/// Reads the body of a question, in JSON.
pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    check_content_type(headers)?;
    read_whole(body, BODY_BYTES_MAX).await
}

/// Reads the body of a request whole. A length that is declared and too long is not waited for.
pub(super) async fn read_whole(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let read = timeout(BODY_TIMEOUT, to_bytes(body, bytes_max)).await.map_err(|_| slow())?;
    read.map_err(|_| too_large(bytes_max))
}

fn too_large(bytes_max: usize) -> Problem {
    let detail = format!("the body broke off, or has more than {bytes_max} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

/// What is left of the body may come at any time: nothing can be read behind it.
fn slow() -> Problem {
    let detail = format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, detail).with(header::CONNECTION, HeaderValue::from_static("close"))
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
