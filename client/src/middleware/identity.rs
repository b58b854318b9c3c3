//! Who sends a request, and how much it asks for: what the rules cannot read off the request by themselves.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use sha2::{Digest, Sha256};
use tallyring_protocol::rules::Lookup;

/// Bytes of a digest that a client is known by: 128 bits are enough to tell tokens apart.
const DIGEST_BYTES: usize = 16;

/// Who sends a request, as the application found out. Everything may be left out: a rule that needs what is missing does
/// not apply, unless it says what stands in.
///
/// ```
/// use std::borrow::Cow;
/// use http::request::Parts;
/// use tallyring_client::middleware::{Identity, header};
///
/// /// What the authentication in front of the layer has put into the request.
/// #[derive(Clone)]
/// struct Account { id: String, tier: &'static str }
///
/// fn whose(request: &Parts) -> Identity<'_> {
///     let account = request.extensions.get::<Account>();
///     Identity {
///         client: account.map(|account| Cow::from(&account.id)),
///         tier: account.map(|account| Cow::from(account.tier)),
///         priority: header(request, "x-priority"),
///         ..Identity::default()
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity<'r> {
    /// Who it is. Only what authentication has confirmed: whoever can invent names has as many budgets as names.
    pub client: Option<Cow<'r, str>>,
    /// Whom they belong to.
    pub tenant: Option<Cow<'r, str>>,
    /// What they have paid for.
    pub tier: Option<Cow<'r, str>>,
    /// The address at the other end of the socket. Behind proxies that the rules trust, `X-Forwarded-For` is followed from
    /// there; nobody else's is believed.
    pub peer: Option<IpAddr>,
    /// What else rules may ask for: `attr:NAME` in a key, `attr.NAME` in a match.
    pub attributes: BTreeMap<String, String>,
    /// How important it is, by a name of the rules' `priorities`.
    pub priority: Option<Cow<'r, str>>,
    /// Units that it costs, under every rule that applies; 0 only looks.
    pub cost: u64,
}

impl Default for Identity<'_> {
    /// Nobody in particular, who asks for one unit.
    fn default() -> Self {
        let (client, tenant, tier, peer, priority) = (None, None, None, None, None);
        Identity { client, tenant, tier, peer, attributes: BTreeMap::new(), priority, cost: 1 }
    }
}

/// The value of a header: the first, if it is text and not empty.
pub fn header<'r>(request: &'r Parts, name: &str) -> Option<Cow<'r, str>> {
    text(&request.headers, name).map(Cow::Borrowed)
}

/// Names a client by its bearer token without keeping the token: the first half of its SHA-256, in hex. Neither keys nor
/// logs nor lists of hot keys hold a secret then.
///
/// ```
/// use http::Request;
/// use tallyring_client::middleware::bearer_digest;
///
/// let request = Request::builder().header("authorization", "Bearer abc").body(()).unwrap().into_parts().0;
/// assert_eq!(bearer_digest(&request).as_deref(), Some("ba7816bf8f01cfea414140de5dae2223"));
/// ```
pub fn bearer_digest(request: &Parts) -> Option<Cow<'static, str>> {
    let (scheme, token) = text(&request.headers, AUTHORIZATION.as_str())?.split_once(' ')?;
    let token = Some(token.trim()).filter(|token| !token.is_empty() && scheme.eq_ignore_ascii_case("bearer"))?;
    let digest = Sha256::digest(token.as_bytes());
    let mut hex = String::with_capacity(2 * DIGEST_BYTES);
    for byte in &digest[..DIGEST_BYTES] {
        let _ = write!(hex, "{byte:02x}");
    }
    Some(Cow::Owned(hex))
}

/// A request's headers, for rules that look at them.
pub(super) struct Headers<'r>(pub(super) &'r HeaderMap);

impl Lookup for Headers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        text(self.0, name)
    }
}

fn text<'r>(headers: &'r HeaderMap, name: &str) -> Option<&'r str> {
    headers.get(name)?.to_str().ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn parts(headers: &[(&str, &[u8])]) -> Parts {
        let request = headers.iter().fold(Request::builder(), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_header_that_is_empty_or_no_text_is_none() {
        let check = |value: &[u8], expect: Option<&str>| {
            assert_eq!(header(&parts(&[("x-api-key", value)]), "X-Api-Key").as_deref(), expect);
        };
        check(b"k1", Some("k1"));
        check(b"", None);
        check(b"\xFF", None);
        assert_eq!(header(&parts(&[]), "x-api-key"), None);
    }

    #[test]
    fn of_several_values_the_first_counts() {
        assert_eq!(header(&parts(&[("x-api-key", b"a"), ("x-api-key", b"b")]), "x-api-key").as_deref(), Some("a"));
    }

    #[test]
    fn a_bearer_token_is_known_by_its_digest() {
        let check = |value: &[u8], expect: Option<&str>| {
            assert_eq!(bearer_digest(&parts(&[("authorization", value)])).as_deref(), expect);
        };
        let digest = Some("ba7816bf8f01cfea414140de5dae2223");
        check(b"Bearer abc", digest);
        check(b"bearer  abc ", digest);
        check(b"Bearer ", None);
        check(b"Bearer", None);
        check(b"Basic abc", None);
        check(b"", None);
    }
}
