//! What a node is called by.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::Deserialize;

/// Longest name of a host, in bytes (RFC 1035, section 2.3.4, as text).
pub(super) const HOST_BYTES_MAX: usize = 253;

/// A host that others are told to connect to: a name or an IP address, without scheme, port or blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// The host as it stands before a colon and a port: an IPv6 address is in brackets.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Host, String> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        if let Ok(ip) = bare.unwrap_or(text).parse::<Ipv6Addr>() {
            return Ok(Host(format!("[{ip}]")));
        }
        let is_host = text.parse::<Ipv4Addr>().is_ok() || is_host_name(text);
        let wanted = "is no host: a name such as store.internal or an IP address is, without scheme, port or blanks";
        is_host.then(|| Host(text.to_owned())).ok_or_else(|| format!("{text:?} {wanted}"))
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Host, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Whether a text can be the name of a host (RFC 1123, section 2.1, and underscores, which some networks have).
fn is_host_name(text: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(is_inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= HOST_BYTES_MAX && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_to_be_called_by_is_a_host_and_nothing_else() {
        let check = |text: &str, expect: Option<&str>| {
            let host = text.parse::<Host>();
            assert_eq!(host.as_ref().ok().map(Host::as_str), expect, "{text:?}: {host:?}");
        };
        for host in ["store", "store-0.store.svc", "10.0.0.7", "a_b.c", "store."] {
            check(host, Some(host));
        }
        check("::1", Some("[::1]"));
        check("[2001:db8::7]", Some("[2001:db8::7]"));
        for other in ["", "http://store", "store:4170", "a b", " store", "a..b", "-a", "[store]", "1.2.3.4:5", "ä"] {
            check(other, None);
        }
        check(&"a".repeat(64), None);
        check(&"a.".repeat(127), None);
    }
}
