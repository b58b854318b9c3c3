//! Whose request is it, as far as the network knows: the client's address behind proxies that we trust.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use http::header::HeaderName;
use http::request::Parts;
use http::{HeaderMap, header};
use tallyring_protocol::Key;

use crate::keyed::whole_key;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Entries of `X-Forwarded-For` that are read, from the right: no honest chain of proxies is longer.
const HOPS_MAX: usize = 32;

/// Prefix of IPv6 addresses that counts as one client: a household or a machine usually has a whole /64.
const IPV6_CLIENT_BITS: u8 = 64;

/// A range of addresses, as `10.0.0.0/8`, `2001:db8::/32` or a single address.
///
/// ```
/// use tallyring_client::middleware::Network;
/// let private: Network = "10.0.0.0/8".parse().unwrap();
/// assert!(private.contains("10.1.2.3".parse().unwrap()));
/// assert!("10.0.0.0/33".parse::<Network>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// A text that is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an address or a range like 10.0.0.0/8")]
pub struct NetworkError {
    /// The text that came.
    pub text: String,
}

impl Network {
    /// Whether an address lies in it. An IPv4 address written as IPv6 is its IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.bits) == masked(self.address, self.bits)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let error = || NetworkError { text: text.to_owned() };
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(bits_max), str::parse).map_err(|_| error())?;
        if bits > bits_max { Err(error()) } else { Ok(Network { address, bits }) }
    }
}

/// An address with all but its first `bits` bits cleared.
fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// The address that a request comes from: `peer`, unless that is a proxy of `trusted`; then the right-most address of
/// `X-Forwarded-For` that is not one of them.
///
/// Whatever stands further left was written by somebody who is not trusted: anybody can send it. An entry that is no
/// address ends the search at the proxy that passed it on.
pub fn client_address(headers: &HeaderMap, peer: IpAddr, trusted: &[Network]) -> IpAddr {
    let mut client = peer.to_canonical();
    let entries = headers.get_all(X_FORWARDED_FOR).iter().rev();
    let entries = entries.flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
    for entry in entries.take(HOPS_MAX) {
        if !trusted.iter().any(|network| network.contains(client)) {
            break;
        }
        let Some(address) = parse_entry(entry.trim()) else { break };
        client = address.to_canonical();
    }
    client
}

/// `203.0.113.9`, `203.0.113.9:4711`, `2001:db8::1` or `[2001:db8::1]:4711`.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    let bare = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let address = entry.parse().ok();
    address.or_else(|| entry.parse::<SocketAddr>().ok().map(|socket| socket.ip())).or_else(bare)
}

/// What counts as one client: an IPv4 address, or the /64 of an IPv6 one.
fn client_text(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => format!("address:{address}"),
        IpAddr::V6(_) => format!("address:{}/{IPV6_CLIENT_BITS}", masked(address, IPV6_CLIENT_BITS)),
    }
}

/// Finds the key that a request counts against.
///
/// A closure `Fn(&http::request::Parts) -> Option<Key>` is one.
pub trait KeyExtractor {
    /// The key of a request; `None` if the request lacks what the key is made of. It is not limited then.
    fn key(&self, request: &Parts) -> Option<Key>;

    /// This key, or `other`'s for requests without it.
    fn or<O: KeyExtractor>(self, other: O) -> Either<Self, O>
    where
        Self: Sized,
    {
        Either { first: self, second: other }
    }
}

impl<F: Fn(&Parts) -> Option<Key>> KeyExtractor for F {
    fn key(&self, request: &Parts) -> Option<Key> {
        self(request)
    }
}

/// The first key, or the second: see [`KeyExtractor::or`].
#[derive(Clone, Debug)]
pub struct Either<A, B> {
    first: A,
    second: B,
}

impl<A: KeyExtractor, B: KeyExtractor> KeyExtractor for Either<A, B> {
    fn key(&self, request: &Parts) -> Option<Key> {
        self.first.key(request).or_else(|| self.second.key(request))
    }
}

/// The value of a header, such as an API key. An empty one counts as absent.
///
/// Anybody can invent values: put it behind authentication, or limit by address as well.
#[derive(Clone, Debug)]
pub struct HeaderKey(pub HeaderName);

impl HeaderKey {
    /// The value of `Authorization`.
    pub const AUTHORIZATION: HeaderKey = HeaderKey(header::AUTHORIZATION);
}

impl KeyExtractor for HeaderKey {
    fn key(&self, request: &Parts) -> Option<Key> {
        let value = request.headers.get(&self.0).filter(|value| !value.is_empty())?;
        Some(whole_key(&[self.0.as_str().as_bytes(), b":", value.as_bytes()].concat()))
    }
}

/// The client's address, as [`client_address`] finds it; an IPv6 address counts by its /64.
#[derive(Clone, Debug)]
pub struct AddressKey<P> {
    peer: P,
    trusted: Vec<Network>,
}

impl<P: Fn(&Parts) -> Option<IpAddr>> AddressKey<P> {
    /// `peer` finds the address at the other end of the socket, where the server has put it into the request. With axum:
    ///
    /// ```
    /// use std::net::SocketAddr;
    /// use axum::extract::ConnectInfo;
    /// use tallyring_client::middleware::AddressKey;
    ///
    /// let by_address = AddressKey::new(|request: &http::request::Parts| {
    ///     request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
    /// });
    /// ```
    pub fn new(peer: P) -> AddressKey<P> {
        AddressKey { peer, trusted: Vec::new() }
    }

    /// Believes `X-Forwarded-For` if it comes from one of these.
    pub fn trusting(self, trusted: impl IntoIterator<Item = Network>) -> AddressKey<P> {
        AddressKey { trusted: trusted.into_iter().collect(), ..self }
    }
}

impl<P: Fn(&Parts) -> Option<IpAddr>> KeyExtractor for AddressKey<P> {
    fn key(&self, request: &Parts) -> Option<Key> {
        let peer = (self.peer)(request)?;
        Some(whole_key(client_text(client_address(&request.headers, peer, &self.trusted)).as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUSTED: [&str; 3] = ["10.0.0.0/8", "127.0.0.1", "fd00::/8"];

    /// `lines` are the `X-Forwarded-For` headers of a request from `peer`.
    fn check(peer: &str, lines: &[&str], expect: &str) {
        let mut headers = HeaderMap::new();
        lines.iter().for_each(|line| {
            headers.append(X_FORWARDED_FOR, line.parse().unwrap());
        });
        let trusted = TRUSTED.map(|text| text.parse().unwrap());
        let client = client_address(&headers, peer.parse().unwrap(), &trusted);
        assert_eq!(client.to_string(), expect, "{peer} {lines:?}");
    }

    #[test]
    fn a_peer_that_is_no_proxy_is_the_client_whatever_it_sends() {
        check("198.51.100.7", &["203.0.113.9"], "198.51.100.7");
        check("198.51.100.7", &["203.0.113.9, 10.0.0.1"], "198.51.100.7");
    }

    #[test]
    fn behind_proxies_the_client_is_the_right_most_stranger() {
        check("127.0.0.1", &[], "127.0.0.1");
        check("127.0.0.1", &["203.0.113.9"], "203.0.113.9");
        check("10.0.0.2", &["6.6.6.6, 203.0.113.9, 10.0.0.1"], "203.0.113.9");
        check("10.0.0.2", &["6.6.6.6", "203.0.113.9", "10.0.0.1"], "203.0.113.9");
        check("fd00::1", &["2001:db8::5"], "2001:db8::5");
    }

    #[test]
    fn a_chain_of_proxies_alone_leads_to_the_left_most() {
        check("10.0.0.2", &["10.0.0.4,10.0.0.3"], "10.0.0.4");
    }

    #[test]
    fn an_entry_that_is_no_address_ends_the_search_at_the_proxy_that_passed_it_on() {
        check("10.0.0.2", &["203.0.113.9, unknown, 10.0.0.1"], "10.0.0.1");
        check("10.0.0.2", &[""], "10.0.0.2");
    }

    #[test]
    fn ports_and_brackets_are_no_part_of_an_address() {
        check("10.0.0.2", &["203.0.113.9:4711"], "203.0.113.9");
        check("10.0.0.2", &["[2001:db8::5]:4711"], "2001:db8::5");
        check("10.0.0.2", &["[2001:db8::5]"], "2001:db8::5");
    }

    #[test]
    fn an_ipv4_address_written_as_ipv6_is_its_ipv4_address() {
        check("::ffff:10.0.0.2", &["::ffff:203.0.113.9"], "203.0.113.9");
        check("::ffff:198.51.100.7", &[], "198.51.100.7");
    }

    #[test]
    fn an_endless_chain_is_not_followed() {
        let line = vec!["10.0.0.9"; 1_000].join(",");
        check("10.0.0.2", &[&format!("203.0.113.9,{line}")], "10.0.0.9");
    }

    #[test]
    fn ipv6_counts_by_its_64() {
        let text = |address: &str| client_text(address.parse().unwrap());
        assert_eq!(text("2001:db8:1:2:3:4:5:6"), "address:2001:db8:1:2::/64");
        assert_eq!(text("2001:db8:1:2:ffff::"), text("2001:db8:1:2::1"));
        assert_ne!(text("2001:db8:1:3::"), text("2001:db8:1:2::"));
        assert_eq!(text("203.0.113.9"), "address:203.0.113.9");
    }

    #[test]
    fn ranges_are_read_strictly() {
        let check = |text: &str, good: bool| assert_eq!(text.parse::<Network>().is_ok(), good, "{text}");
        ["0.0.0.0/0", "1.2.3.4", "1.2.3.4/32", "::/0", "::1/128"].iter().for_each(|text| check(text, true));
        ["", "1.2.3.4/33", "1.2.3.4/", "1.2.3/8", "::1/129", "1.2.3.4/-1"].iter().for_each(|text| check(text, false));
    }

    #[test]
    fn a_range_contains_what_shares_its_first_bits() {
        let check = |range: &str, address: &str, expect| {
            let range: Network = range.parse().unwrap();
            assert_eq!(range.contains(address.parse().unwrap()), expect, "{range:?} {address}");
        };
        check("10.0.0.0/8", "10.255.255.255", true);
        check("10.0.0.0/8", "11.0.0.0", false);
        check("0.0.0.0/0", "255.1.1.1", true);
        check("0.0.0.0/0", "::1", false);
        check("10.0.0.0/8", "::ffff:10.1.1.1", true);
        check("2001:db8::/33", "2001:db8:7fff::1", true);
        check("2001:db8::/33", "2001:db8:8000::1", false);
    }

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let request =
            headers.iter().fold(http::Request::builder(), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_header_is_a_key_and_its_absence_leads_to_the_next_extractor() {
        let peer = |_: &Parts| Some(IpAddr::from([198, 51, 100, 7]));
        let extractor = HeaderKey(HeaderName::from_static("x-api-key")).or(AddressKey::new(peer));
        let rest = |headers: &[(&str, &str)]| {
            let key = extractor.key(&parts(headers)).unwrap();
            String::from_utf8(key.as_ref().rest().to_vec()).unwrap()
        };
        assert_eq!(rest(&[("x-api-key", "abc")]), "x-api-key:abc");
        assert_eq!(rest(&[("x-api-key", "")]), "address:198.51.100.7");
        assert_eq!(rest(&[]), "address:198.51.100.7");
    }

    #[test]
    fn a_request_without_any_of_them_has_no_key() {
        let extractor = HeaderKey::AUTHORIZATION.or(AddressKey::new(|_: &Parts| None));
        assert_eq!(extractor.key(&parts(&[])), None);
    }

    #[test]
    fn braces_in_a_header_do_not_choose_the_shard() {
        let key = HeaderKey::AUTHORIZATION.key(&parts(&[("authorization", "{evil}x")])).unwrap();
        assert_eq!(key.as_ref().tag(), b"authorization:{evil}x");
    }
}
