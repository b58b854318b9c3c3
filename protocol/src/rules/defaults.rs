//! What holds for all rules of a document.

use super::address::{IPV6_PREFIX_BITS, Network};
use super::fraction::Fraction;

/// A family of response headers: see [`headers`](crate::headers), which writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeaderFamily {
    /// `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`; the reset in seconds from now.
    RateLimit,
    /// The same with `X-` before them; the reset in seconds since the Unix epoch.
    XRateLimit,
    /// `RateLimit-Policy` and `RateLimit` as structured fields.
    Structured,
}

impl HeaderFamily {
    /// Every family, in the order of their documentation.
    pub const ALL: [HeaderFamily; 3] = [HeaderFamily::RateLimit, HeaderFamily::XRateLimit, HeaderFamily::Structured];

    /// The name in rules.
    pub const fn name(self) -> &'static str {
        match self {
            HeaderFamily::RateLimit => "ratelimit",
            HeaderFamily::XRateLimit => "x-ratelimit",
            HeaderFamily::Structured => "structured",
        }
    }

    /// The family of that name.
    pub fn from_name(name: &str) -> Option<HeaderFamily> {
        HeaderFamily::ALL.into_iter().find(|family| family.name() == name)
    }
}

/// What holds for all rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Families of headers to send.
    pub headers: Vec<HeaderFamily>,
    /// `Retry-After` is the wait and up to this part of it more.
    pub retry_jitter: Fraction,
    /// `false`: every rule decides and counts, none rejects.
    pub enforce: bool,
    /// Proxies whose `X-Forwarded-For` is believed: see [`client_address`](super::client_address).
    pub trusted_proxies: Vec<Network>,
    /// Bits of an IPv6 address that are one client, `1 ..= 128`.
    pub ipv6_prefix_bits: u8,
    /// Gateways that limits are divided by while the store has never been reached.
    pub fallback_gateways: Option<u32>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            headers: HeaderFamily::ALL.into(),
            retry_jitter: Fraction::from_millionths(200_000),
            enforce: true,
            trusted_proxies: Vec::new(),
            ipv6_prefix_bits: IPV6_PREFIX_BITS,
            fallback_gateways: None,
        }
    }
}
