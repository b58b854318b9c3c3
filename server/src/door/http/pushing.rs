//! What pushes of rules have in common: their text, their author, what becomes of them.

use axum::body::Body;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tallyring_protocol::RulesVersion;
use tallyring_protocol::bounds::RULES_BYTES_MAX;
use tallyring_protocol::rules::Syntax;

use super::HttpDoor;
use super::caller::Admin;
use super::line::Json;
use super::problem::Problem;
use crate::rules::publish::{Change, PublishError, Push};
use crate::rules::text::{Fault, Text};

/// Who pushes and why, in the query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Reason {
    author: String,
    comment: String,
}

/// What the query of a push says, as axum hands it over.
pub(super) type ReasonQuery = Result<Query<Reason>, QueryRejection>;

/// What is answered to a push.
#[derive(Serialize)]
struct Answer {
    version: u64,
    lineage: u64,
    changed: bool,
    warnings: Vec<Fault>,
}

/// What says what a text is written in.
pub(super) fn content_type(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Toml => "application/toml",
        Syntax::Json => "application/json",
    }
}

/// Reads the document of a request, whole or not at all.
pub(super) async fn read_text(headers: &HeaderMap, body: Body) -> Result<Text, Problem> {
    let bytes = super::body::read_whole(body, RULES_BYTES_MAX).await?;
    let text = Text::read(bytes.into()).map_err(PublishError::from)?;
    check_content_type(headers, &text)?;
    Ok(text)
}

/// Whether the text is written in what the request says it is.
fn check_content_type(headers: &HeaderMap, text: &Text) -> Result<(), Problem> {
    let Some(said) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let said = said.to_str().unwrap_or("").split(';').next().unwrap_or("").trim();
    match (said, text.syntax()) {
        ("application/json", Syntax::Json) | ("application/toml", Syntax::Toml) => Ok(()),
        ("application/json", Syntax::Toml) => {
            Err(Problem::field("document", "no document in JSON: that begins with {"))
        }
        ("application/toml", Syntax::Json) => {
            Err(Problem::field("document", "no document in TOML: it begins as JSON does"))
        }
        ("text/plain" | "application/x-www-form-urlencoded", _) => Ok(()), // what curl says of any file
        _ => {
            let detail = format!("Content-Type: {said:?} is neither application/toml nor application/json");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
        }
    }
}

impl HttpDoor {
    /// Publishes a change and says what became of it.
    pub(super) async fn push(
        &self,
        admin: Admin,
        headers: &HeaderMap,
        reason: ReasonQuery,
        change: Change,
    ) -> Result<Response, Problem> {
        let Query(reason) = reason.map_err(|rejection| Problem::field("query", rejection.body_text()))?;
        let expect = super::etag::expected(headers, self.rules.live().version)?;
        let push =
            Push { change, author: author(&reason, admin).as_str().into(), comment: reason.comment.into(), expect };
        let published = self.rules.publish(push).await?;
        let RulesVersion { lineage, version } = published.version;
        let answer = Answer { version, lineage, changed: published.is_new, warnings: published.warnings };
        Ok(([(header::ETAG, super::etag::of(published.version))], Json(answer)).into_response())
    }
}

/// What they call themselves, which nobody has checked, and where they called from.
fn author(reason: &Reason, admin: Admin) -> String {
    let peer = admin.peer.to_canonical();
    if reason.author.is_empty() { peer.to_string() } else { format!("{} ({peer})", reason.author) }
}
