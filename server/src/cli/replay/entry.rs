//! One request, as a log tells it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tallyring_protocol::rules::Subject;

/// Values by name.
pub(super) type Named = BTreeMap<String, String>;

/// A request that a log knows of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// When, in microseconds since the Unix epoch.
    pub(super) t_us: u64,
    pub(super) ip: Option<IpAddr>,
    pub(super) method: Box<str>,
    pub(super) path: Box<str>,
    pub(super) client: Option<Box<str>>,
    pub(super) tenant: Option<Box<str>>,
    pub(super) tier: Option<Box<str>>,
    /// Names in lower case.
    pub(super) headers: Named,
    pub(super) attributes: Named,
}

impl Entry {
    /// What the rules are asked about.
    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            client: self.client.as_deref(),
            tenant: self.tenant.as_deref(),
            tier: self.tier.as_deref(),
            ip: self.ip,
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
            attributes: &self.attributes,
        }
    }
}

/// The method and path of a request line, `GET /a?b HTTP/1.1`, as far as it is one; of a path with a host in front, the
/// path.
pub(super) fn request_line(text: &str) -> (&str, &str) {
    let mut words = text.split(' ');
    match (words.next(), words.next()) {
        (Some(method), Some(path)) if !path.is_empty() => (method, path_of(path)),
        _ => ("", "/"), // a probe, or a handshake of another protocol: still a request
    }
}

/// The path of a target that may name a host.
pub(super) fn path_of(target: &str) -> &str {
    let behind = |scheme: &str| target.strip_prefix(scheme);
    match behind("http://").or_else(|| behind("https://")) {
        Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    }
}
