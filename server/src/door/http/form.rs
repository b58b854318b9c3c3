//! What a request must be before anybody looks at what it asks for: whoever is in front of the node and the node itself must
//! have read the same.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Version, header};

use super::problem::Problem;

/// Looks at the form of a request, and has it say in Host alone which host it is for.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check<B>(request: &mut Request<B>) -> Result<(), Problem> {
    check_coding(request.headers())?;
    check_hosts(request.version(), request.headers())?;
    check_escapes(request.uri().path())?;
    // A whole URL as the target says more than Host does (RFC 9112, section 3.2.2).
    let host = request.uri().authority().and_then(host_of);
    if let Some(host) = host {
        request.headers_mut().insert(header::HOST, host);
    }
    Ok(())
}

/// A body in another coding than chunks ends elsewhere for whoever does not know it (RFC 9112, section 6.1).
fn check_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let unknown = headers.get_all(header::TRANSFER_ENCODING).iter().find(|coding| !is_chunked(coding));
    let Some(coding) = unknown else { return Ok(()) };
    let detail = format!("Transfer-Encoding: {coding:?}: chunked is the only coding that is understood");
    let problem = Problem::new(StatusCode::NOT_IMPLEMENTED, detail);
    Err(problem.with(header::CONNECTION, HeaderValue::from_static("close")))
}

fn is_chunked(coding: &HeaderValue) -> bool {
    coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")
}

/// Exactly one Host, as HTTP/1.1 asks for (RFC 9112, section 3.2).
fn check_hosts(version: Version, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => Err(Problem::field("Host", "it is said more than once")),
        (None, _) if version >= Version::HTTP_11 => Err(Problem::field("Host", "missing: HTTP/1.1 asks for one")),
        _ => Ok(()),
    }
}

/// A percent sign begins an escape of two hexadecimal digits, or two readers of one path take it for two.
fn check_escapes(path: &str) -> Result<(), Problem> {
    let bytes = path.as_bytes();
    let is_escape = |at: usize| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    let bad = bytes.iter().enumerate().find(|&(at, byte)| *byte == b'%' && !is_escape(at));
    let Some((at, _)) = bad else { return Ok(()) };
    let found = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 3)]);
    let reason = format!("{found:?} at byte {at} is no escape: % and two hexadecimal digits; %25 is a percent sign");
    Err(Problem::field("path", reason))
}

fn host_of(authority: &Authority) -> Option<HeaderValue> {
    let host = authority.as_str().rsplit('@').next()?;
    HeaderValue::from_str(host).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, headers: &[(&str, &str)]) -> Request<()> {
        let request = Request::builder().uri(target);
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(()).unwrap()
    }

    /// The host that a request is for, or what it is told.
    fn found(mut request: Request<()>) -> Result<String, String> {
        check(&mut request).map_err(|problem| format!("{problem:?}"))?;
        Ok(request.headers().get(header::HOST).map_or("", |host| host.to_str().unwrap()).to_owned())
    }

    #[test]
    fn a_whole_url_says_which_host_is_meant() {
        assert_eq!(found(request("/", &[("host", "a")])), Ok("a".into()));
        assert_eq!(found(request("http://b:1/", &[("host", "a")])), Ok("b:1".into()));
        assert_eq!(found(request("http://u@b/", &[("host", "a")])), Ok("b".into()));
    }

    fn refused(request: Request<()>, status: u16, expect: &str) {
        let told = found(request).unwrap_err();
        assert!(told.contains(&format!("status: {status}")) && told.contains(expect), "{told}");
    }

    #[test]
    fn one_host_is_said_once() {
        refused(request("/", &[]), 400, "missing");
        refused(request("http://b/", &[]), 400, "missing");
        refused(request("/", &[("host", "a"), ("host", "b")]), 400, "more than once");
        let mut old = request("/", &[]);
        *old.version_mut() = Version::HTTP_10;
        assert_eq!(found(old), Ok(String::new()));
    }

    #[test]
    fn a_body_comes_in_chunks_or_as_it_is() {
        let coded = |coding| request("/", &[("host", "a"), ("transfer-encoding", coding)]);
        assert!(found(coded("chunked")).is_ok() && found(coded(" Chunked")).is_ok());
        for coding in ["gzip, chunked", "gzip", "chunked, chunked", "identity"] {
            refused(coded(coding), 501, "the only coding");
        }
    }

    #[test]
    fn an_escape_that_is_none_is_told_with_its_place() {
        let path = |target| request(target, &[("host", "a")]);
        assert!(found(path("/v1/keys/a%2Fb%zz".trim_end_matches("%zz"))).is_ok());
        refused(path("/v1/keys/a%zz"), 400, r#"\"%zz\" at byte 10"#);
        refused(path("/v1/keys/a%2"), 400, r#"\"%2\" at byte 10"#);
        refused(path("/%"), 400, r#"\"%\" at byte 1"#);
    }
}
