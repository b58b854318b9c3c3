//! What is known about one request, in the spelling that rules compare and keys contain.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use super::address::ClientAddress;
use super::path::{PathBuffer, normalise};
use super::subject::Subject;

/// Room for the longest address with its prefix: `ffff:…:ffff/128`, 43 bytes.
const ADDRESS_BYTES: usize = 48;

/// A request whose path and address are in normal form, and whose empty values are absent.
pub(crate) struct Facts<'a> {
    pub(crate) client: Option<&'a str>,
    pub(crate) tenant: Option<&'a str>,
    pub(crate) tier: Option<&'a str>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    ipv6_bits: u8,
    /// The address as keys have it, once somebody has asked.
    ip: OnceCell<AddressText>,
    subject: &'a Subject<'a>,
}

impl<'a> Facts<'a> {
    /// What is known about `subject`; a path that has to be spelled anew is spelled in `path`.
    pub(crate) fn new(subject: &'a Subject<'a>, ipv6_bits: u8, path: &'a mut PathBuffer) -> Facts<'a> {
        Facts {
            client: present(subject.client),
            tenant: present(subject.tenant),
            tier: present(subject.tier),
            address: subject.ip.map(|ip| ip.to_canonical()),
            method: method(subject.method),
            path: normalise(subject.path, path),
            ipv6_bits,
            ip: OnceCell::new(),
            subject,
        }
    }

    /// The address as keys have it.
    pub(crate) fn ip(&self) -> Option<&[u8]> {
        let address = self.address?;
        Some(self.ip.get_or_init(|| AddressText::new(address, self.ipv6_bits)).as_bytes())
    }

    /// The header of that name, which is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        present(self.subject.headers.get(name))
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&'a str> {
        present(self.subject.attributes.get(name))
    }
}

/// A HEAD costs what its GET costs, and a router hands it to the same code: else it would be a way around every limit.
fn method(method: &str) -> &str {
    if method == "HEAD" { "GET" } else { method }
}

/// Nothing is no value: it would make one shared bucket of all who have none.
fn present(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

/// An address as text, without an allocation.
struct AddressText {
    bytes: [u8; ADDRESS_BYTES],
    len: usize,
}

impl AddressText {
    fn new(address: IpAddr, ipv6_bits: u8) -> AddressText {
        let mut text = AddressText { bytes: [0; ADDRESS_BYTES], len: 0 };
        match address {
            IpAddr::V4(address) => text.push_ipv4(address),
            IpAddr::V6(_) => {
                write!(text, "{}", ClientAddress::new(address, ipv6_bits)).expect("there is room for the longest");
            }
        }
        text
    }

    /// As `write!` would, in a tenth of the time: most requests are counted by address.
    fn push_ipv4(&mut self, address: Ipv4Addr) {
        for (at, octet) in address.octets().into_iter().enumerate() {
            if at > 0 {
                self.push(b'.');
            }
            for (power, is_last) in [(100, false), (10, false), (1, true)] {
                if octet >= power || is_last {
                    self.push(b'0' + octet / power % 10);
                }
            }
        }
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl std::fmt::Write for AddressText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes[self.len..].get_mut(..text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_everywhere_else() {
        let longest = "1234:5678:9abc:def0:1234:5678:9abc:def0";
        for address in ["0.0.0.0", "1.20.100.255", "10.9.99.101", "255.255.255.255", "2001:db8::1", "::", longest] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(
                AddressText::new(address, 128).as_bytes(),
                ClientAddress::new(address, 128).to_string().as_bytes()
            );
            assert_eq!(
                AddressText::new(address, 64).as_bytes(),
                ClientAddress::new(address, 64).to_string().as_bytes()
            );
        }
    }
}
