//! What HTTP answers when it refuses: a problem (RFC 9457), for people and for programs.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tallyring_protocol::problem::PROBLEM_JSON;

use crate::door::json;
use crate::door::shards::Refusal;
use crate::event::field::BadField;
use crate::rules::publish::PublishError;
use crate::rules::text::Fault;

/// What the path names: a tier, a key, a version.
pub(super) type Named = Result<Path<String>, PathRejection>;

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Problem {
        Problem::new(rejection.status(), rejection.body_text())
    }
}

/// A refusal.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    /// What kind of problem it is; `about:blank`: the status says it all.
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    #[serde(serialize_with = "as_number")]
    status: StatusCode,
    detail: String,
    /// Each thing that is wrong with what was sent, with its line and path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Fault>,
    #[serde(skip)]
    header: Option<Box<(HeaderName, HeaderValue)>>,
}

fn as_number<S: serde::Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

impl Problem {
    /// A problem of which the status says what kind it is.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        let title = status.canonical_reason().unwrap_or("Error");
        Problem { kind: "about:blank", title, status, detail: detail.into(), errors: Vec::new(), header: None }
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    pub(super) fn method_not_allowed() -> Problem {
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "the path is there, the method is not: see Allow")
    }

    /// A field of the request is wrong.
    pub(super) fn field(path: &str, reason: impl Into<String>) -> Problem {
        let reason = reason.into();
        let detail = format!("{path}: {reason}");
        let errors = vec![Fault { line: None, path: path.to_owned(), reason }];
        Problem { errors, ..Problem::new(StatusCode::BAD_REQUEST, detail) }
    }

    /// No majority has answered in time.
    pub(super) fn not_agreed(detail: String) -> Problem {
        Problem {
            kind: "urn:tallyring:problem:not-agreed",
            title: "The cluster has not agreed in time",
            ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        }
        .with(header::RETRY_AFTER, RETRY_AFTER_S)
    }

    /// The same, in other words.
    pub(super) fn detailed(self, detail: String) -> Problem {
        Problem { detail, ..self }
    }

    /// The same, with a header.
    pub(super) fn with(self, name: HeaderName, value: HeaderValue) -> Problem {
        Problem { header: Some(Box::new((name, value))), ..self }
    }
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Problem {
        let detail = error.to_string();
        match error {
            PublishError::Faults(faults) => Problem {
                kind: "urn:tallyring:problem:invalid-rules",
                title: "The rules make no sense; nothing has changed",
                errors: faults.0,
                ..Problem::new(StatusCode::BAD_REQUEST, detail)
            },
            PublishError::Conflict { live } => Problem {
                kind: "urn:tallyring:problem:version-conflict",
                title: "Other rules are live than the request expects; nothing has changed",
                ..Problem::new(StatusCode::PRECONDITION_FAILED, detail)
            }
            .with(header::ETAG, super::etag::of(live)),
            PublishError::TooLong(_) => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail),
            PublishError::Refused(_) => {
                Problem { title: "Nothing has changed", ..Problem::new(StatusCode::CONFLICT, detail) }
            }
            PublishError::NotAgreed(_) => Problem::not_agreed(detail),
        }
    }
}

/// When to come back to a node that could not decide, in seconds.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("1");

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let unavailable = |kind, detail: String| {
            Problem { kind, ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
                .with(header::RETRY_AFTER, RETRY_AFTER_S)
        };
        let detail = refusal.to_string();
        match refusal {
            Refusal::Overloaded => unavailable("urn:tallyring:problem:overloaded", detail),
            Refusal::Full => unavailable("urn:tallyring:problem:full", detail),
            Refusal::Moving => unavailable("urn:tallyring:problem:moving", detail),
            Refusal::Unavailable => unavailable("urn:tallyring:problem:unavailable", detail),
            Refusal::Invalid { field, reason } => Problem::field(&field, reason),
        }
    }
}

impl From<BadField> for Problem {
    fn from(bad: BadField) -> Problem {
        let path = if bad == BadField::line() { json::WHOLE.to_owned() } else { bad.to_string() };
        Problem::field(&path, bad.allowed())
    }
}

impl From<json::BadField> for Problem {
    fn from(bad: json::BadField) -> Problem {
        Problem::field(&bad.path, bad.reason)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = super::line::line(&self).expect("texts and numbers have a JSON form");
        let mut response = (self.status, [(header::CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
        if let Some((name, value)) = self.header.map(|header| *header) {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
