//! Who is calling: a token where the node has any; where it has none, whoever calls it by a name of its own.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use tallyring_protocol::Role;

use super::HttpDoor;
use super::problem::Problem;

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Somebody who may read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    role: Role,
    peer: IpAddr,
}

/// Somebody who may change what others depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admin {
    /// Where they call from.
    pub(super) peer: IpAddr,
}

impl<S: Send + Sync> FromRequestParts<S> for Reader
where
    Arc<HttpDoor>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Reader, Problem> {
        let door = Arc::<HttpDoor>::from_ref(state);
        let peer = parts.extensions.get::<Peer>().expect("every request has its peer").0.ip();
        let role = door.role_of(&parts.headers)?;
        Ok(Reader { role, peer })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Admin
where
    Arc<HttpDoor>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Admin, Problem> {
        match Reader::from_request_parts(parts, state).await? {
            Reader { role: Role::Admin, peer } => Ok(Admin { peer }),
            Reader { role: Role::Client, .. } => {
                Err(Problem::new(StatusCode::FORBIDDEN, "this token may read; to change anything takes an admin's"))
            }
        }
    }
}

impl HttpDoor {
    /// What a caller may do, by what they show.
    ///
    /// # Errors
    /// They are nobody who may call.
    pub(super) fn role_of(&self, headers: &HeaderMap) -> Result<Role, Problem> {
        if self.tokens.open() {
            self.check_host(headers)?;
            return self.check_origin(headers).map(|()| Role::Admin);
        }
        let Some(token) = bearer(headers) else {
            return Err(unauthorized("Authorization: Bearer TOKEN is needed"));
        };
        self.tokens.role_of(token).ok_or_else(|| unauthorized("the token is none of this node's"))
    }

    /// Without tokens everybody who reaches the port may do anything. A web page in a browser beside the node reaches it
    /// too, if its own name is made to point here; but the browser then says that name.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let host = sole_host(headers);
        if host.is_empty() {
            return Err(Problem::field("Host", "missing or empty: call the node by its address, or give it tokens"));
        }
        if is_own_name(host, self.advertise_host.as_deref()) {
            return Ok(());
        }
        let detail = format!("Host: {host:?} is no name of this node: call it by its address, or give it tokens");
        Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail))
    }

    /// A page of anybody may also make the browser call the node by its right name. Then the browser says whose page it is.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or("");
        if is_of_host(origin, sole_host(headers)) {
            return Ok(());
        }
        let detail = format!("Origin: {origin:?}: a page from elsewhere may not do this; give the node tokens");
        Err(Problem::new(StatusCode::FORBIDDEN, detail))
    }
}

/// The host that a request names; none if it names several, of which whoever is in front may have believed another one.
fn sole_host(headers: &HeaderMap) -> &str {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or(""),
        _ => "",
    }
}

/// Whether a page of an origin such as `http://localhost:4171` came from where the request goes. Another port is
/// another server's page, and so is one of another address, though that may be this machine's, too.
fn is_of_host(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_scheme, of)| !of.is_empty() && of.eq_ignore_ascii_case(host))
}

/// Whether `host`, perhaps with a port, is an address, `localhost`, or the name that the node was given.
fn is_own_name(host: &str, advertised: Option<&str>) -> bool {
    let is_address = host.parse::<SocketAddr>().is_ok() || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let name = host.rsplit_once(':').map_or(host, |(name, _port)| name);
    is_address || name.eq_ignore_ascii_case("localhost") || advertised.is_some_and(|own| name.eq_ignore_ascii_case(own))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, detail).with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, expect: bool) {
        assert_eq!(is_own_name(host, Some("store.internal")), expect, "{host:?}");
    }

    #[test]
    fn a_name_that_somebody_else_gave_the_node_is_none_of_its_own() {
        for own in
            ["127.0.0.1", "127.0.0.1:4171", "[::1]", "[::1]:4171", "10.0.0.9", "LocalHost:4171", "store.internal"]
        {
            check(own, true);
        }
        for foreign in ["", "evil.example", "evil.example:4171", "127.0.0.1.evil.example", "localhost.evil.example"] {
            check(foreign, false);
        }
        assert!(!is_own_name("store.internal", None));
    }

    #[test]
    fn a_page_from_elsewhere_is_told_apart_by_its_origin() {
        let check = |origin, host, expect| assert_eq!(is_of_host(origin, host), expect, "{origin} {host}");
        check("http://localhost:4171", "LocalHost:4171", true);
        check("https://[::1]:4171", "[::1]:4171", true);
        check("http://127.0.0.1", "127.0.0.1", true);
        for foreign in ["https://evil.example", "null", "", "://", "http://203.0.113.9", "http://localhost:3000"] {
            check(foreign, "localhost:4171", false);
        }
        check("http://", "", false);
    }

    #[test]
    fn of_two_hosts_none_counts() {
        let check = |hosts: &[&'static str], expect| {
            let hosts = hosts.iter().map(|host| (header::HOST, HeaderValue::from_static(host)));
            assert_eq!(sole_host(&HeaderMap::from_iter(hosts)), expect);
        };
        check(&[], "");
        check(&["localhost"], "localhost");
        let mut twice = HeaderMap::new();
        twice.append(header::HOST, HeaderValue::from_static("localhost"));
        twice.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert_eq!(sole_host(&twice), "");
    }

    #[test]
    fn a_token_is_behind_its_scheme() {
        let token = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(token("Bearer abc"), Some("abc".into()));
        assert_eq!(token("bearer  abc "), Some("abc".into()));
        assert_eq!(token("Basic abc"), None);
        assert_eq!(token("abc"), None);
    }
}
