//! The address that a request came from.

use std::fmt;
use std::net::IpAddr;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// An IPv4 or IPv6 address, without a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ip(pub(super) IpAddr);

impl<'de> Deserialize<'de> for Ip {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Ip, D::Error> {
        from.deserialize_str(IpVisitor)
    }
}

struct IpVisitor;

impl Visitor<'_> for IpVisitor {
    type Value = Ip;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an IP address without a port, such as \"203.0.113.9\" or \"2001:db8::7\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Ip, E> {
        text.parse().map(Ip).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}
