//! Where to listen.

use std::net::SocketAddr;
use std::str::FromStr;

use serde::Deserialize;

/// Where to listen: an address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddr(SocketAddr);

impl ListenAddr {
    /// The address.
    pub fn get(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for ListenAddr {
    type Err = String;

    /// A name is not looked up: it may stand for several addresses, or for another one tomorrow.
    fn from_str(text: &str) -> Result<ListenAddr, String> {
        let wanted = "is not IP:PORT, such as 127.0.0.1:4170 or [::1]:4170";
        text.parse().map(ListenAddr).map_err(|_| format!("{text:?} {wanted}: names are not looked up"))
    }
}

impl<'de> Deserialize<'de> for ListenAddr {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<ListenAddr, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_at_is_no_name() {
        let check = |text: &str, expect: bool| assert_eq!(text.parse::<ListenAddr>().is_ok(), expect, "{text}");
        ["127.0.0.1:4170", "[::1]:0", "0.0.0.0:80"].iter().for_each(|text| check(text, true));
        ["localhost:4170", "127.0.0.1", ":4170", "::1:4170", "", "127.0.0.1:70000"]
            .iter()
            .for_each(|text| check(text, false));
        let error = "localhost:4170".parse::<ListenAddr>().unwrap_err();
        assert!(error.starts_with("\"localhost:4170\" is not IP:PORT, such as 127.0.0.1:4170"), "{error}");
    }
}
