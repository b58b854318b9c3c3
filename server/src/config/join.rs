//! Whom to join.

use std::str::FromStr;

use serde::Deserialize;

use super::host::HOST_BYTES_MAX;

/// Addresses to join at: as many members as a node could remember.
pub const JOIN_MAX: usize = 64;

/// Longest address to join at, in bytes: the name of a host, a colon and a port.
const JOIN_BYTES_MAX: usize = HOST_BYTES_MAX + 6;

/// Nodes to join at, each as `host:port`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Join(Vec<String>);

impl Join {
    /// The addresses, in the order in which they are asked.
    pub fn addresses(&self) -> &[String] {
        &self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Vec<String>> for Join {
    type Error = String;

    fn try_from(addresses: Vec<String>) -> Result<Join, String> {
        if addresses.len() > JOIN_MAX {
            return Err(format!("{} addresses, at most {JOIN_MAX} are asked", addresses.len()));
        }
        match addresses.iter().find(|address| !is_address(address)) {
            Some(address) => Err(format!("{address:?} is not HOST:PORT")),
            None => Ok(Join(addresses)),
        }
    }
}

/// Whether a text is `host:port`; whether there is such a host is for the resolver to say.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
    is_host && text.len() <= JOIN_BYTES_MAX && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl FromStr for Join {
    type Err = String;

    fn from_str(text: &str) -> Result<Join, String> {
        Join::try_from(text.split(',').map(|address| address.trim().to_owned()).collect::<Vec<_>>())
    }
}

impl<'de> Deserialize<'de> for Join {
    /// One text with commas, or a list of addresses.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Join, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Text(String),
            List(Vec<String>),
        }
        let join = match Spelling::deserialize(from)? {
            Spelling::Text(text) => text.parse(),
            Spelling::List(addresses) => Join::try_from(addresses),
        };
        join.map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_join_at_are_hosts_with_ports() {
        let check = |text: &str, expect: Result<&[&str], &str>| {
            let parsed = text.parse::<Join>();
            let found = parsed.as_ref().map(|join| join.addresses().iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.map_err(String::as_str), expect.map(<[&str]>::to_vec), "{text}");
        };
        check("a:4174", Ok(&["a:4174"]));
        check("a:4174, b.c:1,[::1]:9", Ok(&["a:4174", "b.c:1", "[::1]:9"]));
        check("a", Err("\"a\" is not HOST:PORT"));
        check("a:0", Err("\"a:0\" is not HOST:PORT"));
        check(":1", Err("\":1\" is not HOST:PORT"));
        check("a:4174,", Err("\"\" is not HOST:PORT"));
        assert!(vec!["a:1"; JOIN_MAX + 1].join(",").parse::<Join>().is_err());
    }
}
