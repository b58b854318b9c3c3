//! What is live in a node, as commands see it.

use axum::http::{Method, header};
use tallyring_protocol::rules::Syntax;

use super::super::exit::Failure;
use super::super::remote::Remote;
use crate::rules::text::Text;

/// The rules that are live.
#[derive(Debug)]
pub(super) struct Live {
    /// Their tag, for a push over them.
    pub(super) etag: String,
    /// Their number; 0 = nobody has published any.
    pub(super) version: u64,
    /// Their text.
    pub(super) text: Text,
}

/// Asks a node for its rules, in a language or as their author wrote them.
pub(super) fn ask(remote: &Remote, syntax: Option<Syntax>) -> Result<Live, Failure> {
    let accept = match syntax {
        None => "*/*",
        Some(Syntax::Toml) => "application/toml",
        Some(Syntax::Json) => "application/json",
    };
    let answer = remote.ask(Method::GET, "/v1/rules", &[(header::ACCEPT, accept)], "")?;
    let etag = answer.headers.get(header::ETAG).and_then(|etag| etag.to_str().ok()).unwrap_or_default().to_owned();
    let version = etag.trim_matches('"').rsplit('-').next().and_then(|version| version.parse().ok());
    let version = version.ok_or_else(|| remote.stranger("it does not say which version is live"))?;
    Ok(Live { etag, version, text: answer.body.into() })
}
