//! Addresses: ranges of them, who is behind a proxy, and what counts as one client.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Entries of `X-Forwarded-For` that are read, from the right: no honest chain of proxies is longer.
pub const HOPS_MAX: usize = 32;

/// Bits of an IPv6 address that count as one client unless the rules say otherwise: a household or a machine usually has
/// a whole /64.
pub const IPV6_PREFIX_BITS: u8 = 64;

/// A range of addresses, as `10.0.0.0/8`, `2001:db8::/32` or a single address.
///
/// ```
/// use tallyring_protocol::rules::Network;
/// let private: Network = "10.0.0.0/8".parse().unwrap();
/// assert!(private.contains("10.1.2.3".parse().unwrap()));
/// assert!("10.0.0.0/33".parse::<Network>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.bits) == self.address
    }

    /// The range of so many bits that an address lies in.
    pub(crate) fn around(address: IpAddr, bits: u8) -> Network {
        Network { address: masked(address, bits), bits }
    }

    /// Whether some address lies in both.
    pub fn overlaps(&self, other: &Network) -> bool {
        if self.bits <= other.bits { self.contains(other.address) } else { other.contains(self.address) }
    }

    /// Its first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Bits that its addresses have in common.
    pub fn bits(&self) -> u8 {
        self.bits
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let error = || NetworkError { text: text.to_owned() };
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(bits_max), decimal).map_err(|()| error())?;
        if bits > bits_max { Err(error()) } else { Ok(canonical_network(address, bits)) }
    }
}

/// A number without a sign: `str::parse` would take a plus.
fn decimal(text: &str) -> Result<u8, ()> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().map_err(|_| ()) } else { Err(()) }
}

/// `::ffff:10.0.0.0/104` is `10.0.0.0/8`: addresses are compared in their canonical form.
fn canonical_network(address: IpAddr, bits: u8) -> Network {
    const MAPPED_BITS: u8 = 96;
    match address.to_canonical() {
        v4 @ IpAddr::V4(_) if address.is_ipv6() && bits >= MAPPED_BITS => {
            Network { address: masked(v4, bits - MAPPED_BITS), bits: bits - MAPPED_BITS }
        }
        _ => Network { address: masked(address, bits), bits },
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// An address with all but its first `bits` bits cleared.
pub(crate) fn masked(address: IpAddr, bits: u8) -> IpAddr {
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
/// `forwarded` that is not one of them.
///
/// `forwarded` yields the entries of `X-Forwarded-For` from the right, the last line's first. Whatever stands further left
/// was written by somebody who is not trusted: anybody can send it. An entry that is no address ends the search at the
/// proxy that passed it on.
///
/// ```
/// use tallyring_protocol::rules::{Network, client_address};
/// let trusted: [Network; 1] = ["10.0.0.0/8".parse().unwrap()];
/// let entries = "6.6.6.6, 198.51.100.7".rsplit(',');
/// let client = client_address(entries, "10.0.0.1".parse().unwrap(), &trusted);
/// assert_eq!(client.to_string(), "198.51.100.7");
/// ```
pub fn client_address<'e>(forwarded: impl Iterator<Item = &'e str>, peer: IpAddr, trusted: &[Network]) -> IpAddr {
    let mut client = peer.to_canonical();
    for entry in forwarded.take(HOPS_MAX) {
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

/// What counts as one client: an IPv4 address, or the first bits of an IPv6 one. It is displayed as keys have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress {
    address: IpAddr,
    bits: u8,
}

impl ClientAddress {
    /// The client that `address` belongs to, where `ipv6_bits` bits make one.
    ///
    /// ```
    /// use tallyring_protocol::rules::ClientAddress;
    /// let text = |address: &str| ClientAddress::new(address.parse().unwrap(), 64).to_string();
    /// assert_eq!(text("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    /// assert_eq!(text("::ffff:203.0.113.9"), "203.0.113.9");
    /// ```
    pub fn new(address: IpAddr, ipv6_bits: u8) -> ClientAddress {
        match address.to_canonical() {
            v4 @ IpAddr::V4(_) => ClientAddress { address: v4, bits: 32 },
            v6 @ IpAddr::V6(_) => ClientAddress { address: masked(v6, ipv6_bits), bits: ipv6_bits },
        }
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(address) => write!(f, "{address}/{}", self.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUSTED: [&str; 3] = ["10.0.0.0/8", "127.0.0.1", "fd00::/8"];

    /// `lines` are the `X-Forwarded-For` headers of a request from `peer`.
    fn check(peer: &str, lines: &[&str], expect: &str) {
        let trusted = TRUSTED.map(|text| text.parse().unwrap());
        let entries = lines.iter().rev().flat_map(|line| line.rsplit(','));
        let client = client_address(entries, peer.parse().unwrap(), &trusted);
        assert_eq!(client.to_string(), expect, "{peer} {lines:?}");
    }

    #[test]
    fn a_peer_that_is_no_proxy_is_the_client_whatever_it_sends() {
        check("198.51.100.7", &["203.0.113.9"], "198.51.100.7");
        check("198.51.100.7", &["203.0.113.9, 10.0.0.1"], "198.51.100.7");
    }

    /// The kind of http-ip-01, where the number of hops is what the trusted ranges make it.
    #[test]
    fn behind_proxies_the_client_is_the_right_most_stranger() {
        check("127.0.0.1", &[], "127.0.0.1");
        check("127.0.0.1", &["203.0.113.9"], "203.0.113.9");
        check("10.0.0.1", &["6.6.6.6, 198.51.100.7"], "198.51.100.7");
        check("10.0.0.1", &["6.6.6.6, 198.51.100.7, 10.0.0.9"], "198.51.100.7");
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
        check("10.0.0.1", &[""], "10.0.0.1");
        check("10.0.0.1", &["not-an-ip"], "10.0.0.1");
    }

    /// The kind of http-ip-03.
    #[test]
    fn ports_and_brackets_are_no_part_of_an_address() {
        check("10.0.0.2", &["203.0.113.9:51000"], "203.0.113.9");
        check("10.0.0.2", &["203.0.113.9:51001"], "203.0.113.9");
        check("10.0.0.2", &["[2001:db8:0:1::5]:443"], "2001:db8:0:1::5");
        check("10.0.0.2", &["[2001:db8:0:1::5]"], "2001:db8:0:1::5");
        check("10.0.0.2", &["2001:db8:0:1::5"], "2001:db8:0:1::5");
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

    /// The kind of http-ip-05: the bits decide, not the notation.
    #[test]
    fn an_ipv6_client_is_its_prefix_and_a_mapped_address_is_ipv4() {
        let check = |address: &str, expect: &str| {
            assert_eq!(ClientAddress::new(address.parse().unwrap(), IPV6_PREFIX_BITS).to_string(), expect);
        };
        for mapped in ["1.2.3.4", "::ffff:1.2.3.4", "::ffff:102:304", "0:0:0:0:0:ffff:0102:0304"] {
            check(mapped, "1.2.3.4");
        }
        for tail in ["2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::102:304"] {
            check(tail, "2001:db8:1234:5678::/64");
        }
        let all = ClientAddress::new("2001:db8::1".parse().unwrap(), 128);
        assert_eq!(all.to_string(), "2001:db8::1/128");
    }

    #[test]
    fn ranges_are_read_strictly() {
        let check = |text: &str, good: bool| assert_eq!(text.parse::<Network>().is_ok(), good, "{text}");
        ["0.0.0.0/0", "1.2.3.4", "1.2.3.4/32", "::/0", "::1/128"].iter().for_each(|text| check(text, true));
        let bad = ["", "1.2.3.4/33", "1.2.3.4/", "1.2.3/8", "::1/129", "1.2.3.4/-1", "1.2.3.4/+8"];
        bad.iter().for_each(|text| check(text, false));
    }

    #[test]
    fn a_range_contains_what_shares_its_first_bits() {
        let check = |range: &str, address: &str, expect| {
            let range: Network = range.parse().unwrap();
            assert_eq!(range.contains(address.parse().unwrap()), expect, "{range:?} {address}");
        };
        check("10.0.0.0/8", "10.255.255.255", true);
        check("10.1.2.3/8", "10.255.255.255", true);
        check("10.0.0.0/8", "11.0.0.0", false);
        check("0.0.0.0/0", "255.1.1.1", true);
        check("0.0.0.0/0", "::1", false);
        check("10.0.0.0/8", "::ffff:10.1.1.1", true);
        check("::ffff:10.0.0.0/104", "10.1.1.1", true);
        check("::ffff:10.0.0.0/104", "11.1.1.1", false);
        check("2001:db8::/33", "2001:db8:7fff::1", true);
        check("2001:db8::/33", "2001:db8:8000::1", false);
    }

    #[test]
    fn ranges_overlap_when_one_contains_the_other() {
        let check = |a: &str, b: &str, expect| {
            let (a, b): (Network, Network) = (a.parse().unwrap(), b.parse().unwrap());
            assert_eq!((a.overlaps(&b), b.overlaps(&a)), (expect, expect), "{a} {b}");
        };
        check("10.0.0.0/8", "10.1.0.0/16", true);
        check("10.0.0.0/8", "10.0.0.0/8", true);
        check("10.0.0.0/16", "10.1.0.0/16", false);
        check("0.0.0.0/0", "::/0", false);
    }
}
