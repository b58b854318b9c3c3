//! `/v1/rules`: the document that is live, and those before it.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tallyring_protocol::rules::Syntax;

use super::HttpDoor;
use super::caller::{Admin, Reader};
use super::line::Json;
use super::problem::{Named, Problem};
use super::pushing::{ReasonQuery, read_text};
use super::{etag, pushing};
use crate::rules::edition::Edition;
use crate::rules::live::Live;
use crate::rules::publish::Change;
use crate::sys::spawn;

/// Answers with the text as its author wrote it, or in the language that the request asks for.
pub(super) async fn read(
    State(door): State<Arc<HttpDoor>>,
    _: Reader,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let live = door.rules.live();
    let own = live.syntax();
    present(&headers, live, own, Live::text_in).await
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

/// What is live, or a part of it, as `write` writes it in a language; `own` is the one of whoever asks for none.
pub(super) async fn present(
    headers: &HeaderMap,
    live: Arc<Live>,
    own: Syntax,
    write: impl FnOnce(&Live, Syntax) -> Bytes + Send + 'static,
) -> Result<Response, Problem> {
    let syntax = wanted(headers, own)?;
    let caching = [(header::ETAG, etag::of(live.version)), (header::VARY, header::ACCEPT.into())];
    if etag::is_known(headers, live.version) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    // Beside this thread: a document may be long, and decisions are made here.
    let body = spawn::blocking(move || write(&live, syntax)).await;
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
        return Err(Problem::not_found(missing(number, &door.rules.history())));
    };
    let content_type = [(header::CONTENT_TYPE, pushing::content_type(edition.text.syntax()))];
    Ok((content_type, edition.text.as_str().to_owned()).into_response())
}

/// What to say of a version that is not there. `kept` are those that are, the newest first.
fn missing(number: u64, kept: &[Arc<Edition>]) -> String {
    match (kept.first(), kept.last()) {
        (Some(newest), Some(oldest)) if number > 0 && number < newest.imprint.version => {
            format!("version {number} is not kept any more; versions from {} up are", oldest.imprint.version)
        }
        (Some(newest), _) => format!("there is no version {number}; the newest is {}", newest.imprint.version),
        (None, _) => format!("there is no version {number}: nobody has published any rules"),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use crate::rules::edition::Imprint;

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

    #[test]
    fn a_version_that_is_not_there_is_told_beside_those_that_are() {
        let edition = |version| {
            let imprint =
                Imprint { version, published_at_us: 0, author: String::new().into(), comment: String::new().into() };
            Arc::new(Edition { imprint, text: String::new().into() })
        };
        let check = |number, kept: &[u64], expect: &str| {
            let kept: Vec<Arc<Edition>> = kept.iter().copied().map(edition).collect();
            assert_eq!(missing(number, &kept), expect);
        };
        check(9, &[3, 2], "there is no version 9; the newest is 3");
        check(1, &[3, 2], "version 1 is not kept any more; versions from 2 up are");
        check(0, &[3, 2], "there is no version 0; the newest is 3");
        check(1, &[], "there is no version 1: nobody has published any rules");
    }
}
