//! What the rules are asked about: one request, as far as a gateway knows it.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Values by name: the headers of a request, or what the application says about it.
///
/// Headers are asked for by names in lower case; of several values the first is meant. An empty value counts as none.
/// Shared, because whoever holds a subject may wait for its decision on any thread.
pub trait Lookup: Sync {
    /// The value of that name.
    fn get(&self, name: &str) -> Option<&str>;
}

/// No values.
impl Lookup for () {
    fn get(&self, _name: &str) -> Option<&str> {
        None
    }
}

impl Lookup for BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<&str> {
        BTreeMap::get(self, name).map(String::as_str)
    }
}

impl Lookup for &[(&str, &str)] {
    fn get(&self, name: &str) -> Option<&str> {
        find(self, name)
    }
}

impl<const N: usize> Lookup for [(&str, &str); N] {
    fn get(&self, name: &str) -> Option<&str> {
        find(self, name)
    }
}

fn find<'a>(pairs: &'a [(&str, &str)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// One request.
///
/// ```
/// use tallyring_protocol::rules::Subject;
/// let subject = Subject { client: Some("cust_42"), tier: Some("free"), ..Subject::new("POST", "/v1/charges") };
/// ```
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Who it is, as authentication found.
    pub client: Option<&'a str>,
    /// Whom they belong to.
    pub tenant: Option<&'a str>,
    /// What they have paid for.
    pub tier: Option<&'a str>,
    /// Where it comes from: see [`client_address`](super::client_address).
    pub ip: Option<IpAddr>,
    /// The method, as it was sent.
    pub method: &'a str,
    /// The path, as it was sent.
    pub path: &'a str,
    /// Its headers.
    pub headers: &'a dyn Lookup,
    /// What else the application knows.
    pub attributes: &'a dyn Lookup,
}

impl<'a> Subject<'a> {
    /// A request of nobody in particular.
    pub fn new(method: &'a str, path: &'a str) -> Subject<'a> {
        let (client, tenant, tier, ip) = (None, None, None, None);
        Subject { client, tenant, tier, ip, method, path, headers: &(), attributes: &() }
    }
}

impl std::fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Subject { client, tenant, tier, ip, method, path, .. } = self;
        f.debug_struct("Subject")
            .field("client", client)
            .field("tenant", tenant)
            .field("tier", tier)
            .field("ip", ip)
            .field("method", method)
            .field("path", path)
            .finish_non_exhaustive() // headers may hold secrets
    }
}
