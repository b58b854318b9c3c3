//! `/v1/rules`: the document that is live, and those before it.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tallyring_protocol::rules::{Document, Syntax};

use super::HttpDoor;
use super::caller::{Admin, Reader};
use super::problem::{Named, Problem};
use super::pushing::{ReasonQuery, read_text};
use super::{etag, pushing};
use crate::rules::edition::Edition;
use crate::rules::live::Live;
use crate::rules::publish::Change;
use crate::rules::text::Text;

/// Answers with the text as its author wrote it, or in the language that the request asks for.
pub(super) async fn read(
    State(door): State<Arc<HttpDoor>>,
    _: Reader,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let live = door.rules.live();
    let text = live.edition.as_ref().map(|edition| &edition.text);
    present(&headers, &live, live.set.document(), text)
}

/// Publishes a document.
pub(super) async fn publish(
    State(door): State<Arc<HttpDoor>>,
    admin: Admin,
    reason: ReasonQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let text = read_text(&headers, body).await?;
    door.push(admin, &headers, reason, Change::Document(text)).await
}

/// What is live, or a part of it: `document`, whose author wrote it as `text` if it is all of it.
pub(super) fn present(
    headers: &HeaderMap,
    live: &Live,
    document: &Document,
    text: Option<&Text>,
) -> Result<Response, Problem> {
    let of_text = text.map_or(Syntax::Toml, Text::syntax);
    let syntax = wanted(headers, of_text)?;
    let caching = [(header::ETAG, etag::of(live.version)), (header::VARY, header::ACCEPT.into())];
    if etag::is_known(headers, live.version) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    let body = match text {
        Some(text) if syntax == of_text => text.as_str().to_owned(),
        _ => Text::of(document, syntax).as_str().to_owned(),
    };
    Ok((caching, [(header::CONTENT_TYPE, pushing::content_type(syntax))], body).into_response())
}

/// The language that a request asks for in Accept, in the order of its wishes; `own` if it has none.
fn wanted(headers: &HeaderMap, own: Syntax) -> Result<Syntax, Problem> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()) else { return Ok(own) };
    let ranges = accept.split(',').map(|range| range.split(';').next().unwrap_or("").trim());
    let known = |range| match range {
        "application/json" => Some(Syntax::Json),
        "application/toml" => Some(Syntax::Toml),
        "*/*" | "application/*" | "text/*" | "text/plain" | "" => Some(own),
        _ => None,
    };
    let detail = "rules are application/toml or application/json";
    ranges.into_iter().find_map(known).ok_or_else(|| Problem::new(StatusCode::NOT_ACCEPTABLE, detail))
}

/// One version in a history.
#[derive(Serialize)]
struct Entry<'a> {
    version: u64,
    published_at_us: u64,
    author: &'a str,
    comment: &'a str,
    bytes: usize,
}

#[derive(Serialize)]
struct History<'a> {
    live: u64,
    lineage: u64,
    /// Newest first.
    versions: Vec<Entry<'a>>,
}

/// Answers with who published which version when, and why.
pub(super) async fn history(State(door): State<Arc<HttpDoor>>, _: Reader) -> Response {
    let editions = door.rules.history();
    let version = door.rules.live().version;
    let versions = editions.iter().map(|edition| entry(edition)).collect();
    Json(History { live: version.version, lineage: version.lineage, versions }).into_response()
}

fn entry(edition: &Edition) -> Entry<'_> {
    let imprint = &edition.imprint;
    Entry {
        version: imprint.version,
        published_at_us: imprint.published_at_us,
        author: imprint.author.as_str(),
        comment: imprint.comment.as_str(),
        bytes: edition.text.as_str().len(),
    }
}

/// Answers with the text of one version, as its author wrote it.
pub(super) async fn edition(State(door): State<Arc<HttpDoor>>, _: Reader, version: Named) -> Result<Response, Problem> {
    let Path(version) = version?;
    let number =
        version.parse().map_err(|_| Problem::field("version", format!("{version:?} is not a whole number")))?;
    let Some(edition) = door.rules.edition(number) else {
        let kept = door.rules.history().iter().map(|edition| edition.imprint.version).reduce(|_, oldest| oldest);
        let kept = kept.map_or("none is".to_owned(), |oldest| format!("versions from {oldest} up are"));
        return Err(Problem::not_found(format!("version {number} is not kept; {kept}")));
    };
    let content_type = [(header::CONTENT_TYPE, pushing::content_type(edition.text.syntax()))];
    Ok((content_type, edition.text.as_str().to_owned()).into_response())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn check(accept: &'static str, own: Syntax, expect: Option<Syntax>) {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        assert_eq!(wanted(&headers, own).ok(), expect, "{accept}");
    }

    #[test]
    fn a_reader_gets_the_language_it_asks_for_else_the_authors() {
        check("application/json", Syntax::Toml, Some(Syntax::Json));
        check("application/toml", Syntax::Json, Some(Syntax::Toml));
        check("*/*", Syntax::Json, Some(Syntax::Json));
        check("text/html, application/json;q=0.9", Syntax::Toml, Some(Syntax::Json));
        check("text/html", Syntax::Toml, None);
        assert_eq!(wanted(&HeaderMap::new(), Syntax::Toml).ok(), Some(Syntax::Toml));
    }
}
