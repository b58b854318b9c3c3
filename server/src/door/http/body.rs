//! Bodies: bounded in size and time, and read whole.

use std::error::Error;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::timeout;

use super::problem::Problem;

/// How long a body may take to arrive.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest body of a question, in bytes: sixteen checks of the longest keys, every character escaped, fit.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1_024;

/// Reads the body of a question, in JSON.
pub(super) async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    check_content_type(headers)?;
    read_whole(body, BODY_BYTES_MAX).await
}

/// Reads the body of a request whole. A length that is declared and too long is not waited for.
pub(super) async fn read_whole<B>(body: B, bytes_max: usize) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let read = timeout(BODY_TIMEOUT, Limited::new(body, bytes_max).collect()).await.map_err(|_| slow())?;
    match read {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(bytes_max)),
        Err(_) => Err(broken()),
    }
}

fn too_large(bytes_max: usize) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {bytes_max} bytes"))
}

/// Where the next request begins nobody knows.
fn broken() -> Problem {
    let detail = "the body broke off, or its chunks make no sense";
    Problem::new(StatusCode::BAD_REQUEST, detail).with(header::CONNECTION, HeaderValue::from_static("close"))
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
