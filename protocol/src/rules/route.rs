//! Patterns of routes: `POST /v1/charges/{id}`, `/files/*`.

use std::fmt;

use super::path::normalised_path;

/// Segments of one pattern.
pub const SEGMENTS_MAX: usize = 32;

/// A pattern of method and path.
///
/// An optional method in capitals; then segments: literal ones, `{name}` for any one segment, and `*` at the end for any
/// number of them, none included. Literals are compared with the normal form of a path, in which they are kept as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    method: Option<Box<str>>,
    segments: Box<[Segment]>,
    is_open: bool,
    text: Box<str>,
}

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Segment {
    Literal(Box<str>),
    Any,
}

/// How specific a pattern's path is; the greater the more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RouteClass {
    Open,
    Placeholders,
    Literal,
}

impl Route {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Route, String> {
        let (method, path) = match text.split_once(' ') {
            Some((method, path)) => (Some(read_method(method)?), path.trim_start_matches(' ')),
            None => (None, text),
        };
        let (segments, is_open) = read_path(path)?;
        let text = spell(method.as_deref(), path);
        Ok(Route { method, segments, is_open, text })
    }

    /// The method, if it asks for one.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// The segments before a `*`, or all.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether it ends with `*`.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The pattern in its normal spelling.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn class(&self) -> RouteClass {
        match self.segments.contains(&Segment::Any) {
            _ if self.is_open => RouteClass::Open,
            true => RouteClass::Placeholders,
            false => RouteClass::Literal,
        }
    }

    /// Whether it matches a method and a path in normal form.
    pub fn matches(&self, method: &str, path: &str) -> bool {
        self.method().is_none_or(|wanted| wanted == method) && self.matches_path(path)
    }

    fn matches_path(&self, path: &str) -> bool {
        let mut rest = segments_of(path);
        let all = self.segments.iter().all(|segment| rest.next().is_some_and(|found| segment.matches(found)));
        all && (self.is_open || rest.next().is_none())
    }
}

impl Segment {
    pub(crate) fn matches(&self, segment: &str) -> bool {
        match self {
            Segment::Literal(literal) => **literal == *segment,
            Segment::Any => true,
        }
    }
}

/// The segments of a path in normal form; the root has none.
pub(crate) fn segments_of(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let (_, behind) = split_at_slash(rest)?;
        let (segment, _) = split_at_slash(behind).unwrap_or((behind, ""));
        rest = &behind[segment.len()..];
        Some(segment)
    })
    .filter(|segment| !segment.is_empty())
}

/// What is before the first slash and behind it. Segments are short: a plain loop is faster than a search.
fn split_at_slash(text: &str) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == b'/')?;
    Some((&text[..at], &text[at + 1..]))
}

fn read_method(method: &str) -> Result<Box<str>, String> {
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if method == "HEAD" {
        Err("HEAD is counted as GET: write GET".to_owned())
    } else if is_method {
        Ok(method.into())
    } else {
        Err(format!("{method:?} is no method: those are in capitals, as in \"GET /x\""))
    }
}

fn read_path(path: &str) -> Result<(Box<[Segment]>, bool), String> {
    if !path.starts_with('/') && path != "*" {
        return Err(format!("{path:?} is no path: it begins with a slash"));
    }
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_open = parts.last() == Some(&"*");
    if is_open {
        parts.pop();
    }
    if parts.len() > SEGMENTS_MAX {
        return Err(format!("a pattern has at most {SEGMENTS_MAX} segments"));
    }
    let segments = parts.into_iter().map(read_segment).collect::<Result<_, _>>()?;
    Ok((segments, is_open))
}

fn read_segment(text: &str) -> Result<Segment, String> {
    if let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let is_name = !name.is_empty() && !name.contains(['{', '}', '*']);
        return if is_name { Ok(Segment::Any) } else { Err(format!("{text:?} is no placeholder: one is like {{id}}")) };
    }
    if text.contains(['{', '}', '*', '?', '#', ' ']) {
        return Err(format!("{text:?}: a {{name}} stands for a whole segment, a * for all that are left"));
    }
    match normalised_path(text).strip_prefix('/') {
        Some("") | None => {
            Err(format!("{text:?} is never a segment of a path: paths are normalised before they are matched"))
        }
        Some(literal) => Ok(Segment::Literal(literal.into())),
    }
}

/// The pattern as keys and people see it: literals as paths have them, names of placeholders as they were written.
fn spell(method: Option<&str>, path: &str) -> Box<str> {
    let segment =
        |part: &str| if part == "*" || part.starts_with('{') { format!("/{part}") } else { normalised_path(part) };
    let path: String = path.split('/').filter(|part| !part.is_empty()).map(segment).collect();
    let path = if path.is_empty() { "/" } else { &path };
    method.map_or_else(|| path.into(), |method| format!("{method} {path}").into())
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, request: &str, expect: bool) {
        let (method, path) = request.split_once(' ').unwrap();
        assert_eq!(
            Route::parse(pattern).unwrap().matches(method, &normalised_path(path)),
            expect,
            "{pattern}: {request}"
        );
    }

    #[test]
    fn a_literal_matches_itself() {
        check("/v1/charges", "GET /v1/charges", true);
        check("/v1/charges", "GET /v1/charges/", true);
        check("/v1/charges", "GET /v1/charge", false);
        check("/v1/charges", "GET /v1/charges/7", false);
        check("/v1/charges", "GET /V1/charges", false);
        check("/%76%31/a%2fb/", "GET /v1/a%2Fb", true);
        check("/", "GET /", true);
        check("/", "GET /x", false);
    }

    #[test]
    fn a_method_matches_itself() {
        check("POST /x", "POST /x", true);
        check("POST /x", "GET /x", false);
        check("POST /x", "post /x", false);
        check("GET *", "GET /any/thing", true);
    }

    #[test]
    fn a_placeholder_matches_one_segment() {
        check("/users/{id}", "GET /users/7", true);
        check("/users/{id}", "GET /users", false);
        check("/users/{id}", "GET /users/", false);
        check("/users/{id}", "GET /users/7/posts", false);
        check("/{a}/{b}/c", "GET /x/y/c", true);
    }

    #[test]
    fn a_star_matches_all_that_is_left_and_nothing_too() {
        check("/files/*", "GET /files/a/b.pdf", true);
        check("/files/*", "GET /files", true);
        check("/files/*", "GET /filesystem", false);
        check("/*", "GET /", true);
        check("*", "GET /x", true);
        check("/{tenant}/*", "GET /", false);
    }

    #[test]
    fn a_bad_pattern_says_why() {
        let check = |pattern: &str, expect: &str| {
            let error = Route::parse(pattern).unwrap_err();
            assert!(error.contains(expect), "{pattern}: {error}");
        };
        check("", "begins with a slash");
        check("v1/x", "begins with a slash");
        check("get /x", "in capitals");
        check(" /x", "in capitals");
        check("GET", "begins with a slash");
        check("GET http://x/", "begins with a slash");
        check("/a*", "whole segment");
        check("/*/a", "whole segment");
        check("/{}", "placeholder");
        check("/{a}b", "whole segment");
        check("/a?x=1", "whole segment");
        check("/a b", "in capitals");
        check("/a/../b", "normalised");
        check(&"/x".repeat(33), "at most 32 segments");
    }

    #[test]
    fn a_pattern_is_spelled_in_one_way() {
        let check = |pattern: &str, expect: &str| assert_eq!(Route::parse(pattern).unwrap().as_str(), expect);
        check("POST  /%76%31//charges/", "POST /v1/charges");
        check("/a/{id}/*", "/a/{id}/*");
        check("*", "/*");
        check("/", "/");
    }
}
