//! What is known about one request, in the spelling that rules compare and keys contain.

use std::io::Write as _;
use std::net::IpAddr;

use smallvec::SmallVec;

use super::address::ClientAddress;
use super::path::{PathBuffer, normalise};
use super::subject::Subject;

/// Room for the longest address with its prefix: `ffff:…:ffff/128`, 43 bytes.
const ADDRESS_BYTES: usize = 64;

/// Room that [`Facts`] borrows from, so that finding them out allocates nothing.
#[derive(Default)]
pub(crate) struct FactsBuffer {
    path: PathBuffer,
    ip: SmallVec<[u8; ADDRESS_BYTES]>,
}

/// A request whose path and address are in normal form, and whose empty values are absent.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) client: Option<&'a str>,
    pub(crate) tenant: Option<&'a str>,
    pub(crate) tier: Option<&'a str>,
    pub(crate) address: Option<IpAddr>,
    /// The address as keys have it.
    pub(crate) ip: Option<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    subject: &'a Subject<'a>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(subject: &'a Subject<'a>, ipv6_bits: u8, buffer: &'a mut FactsBuffer) -> Facts<'a> {
        let address = subject.ip.map(|ip| ip.to_canonical());
        let FactsBuffer { path, ip } = buffer;
        if let Some(address) = address {
            write!(ip, "{}", ClientAddress::new(address, ipv6_bits)).expect("a vector takes all bytes");
        }
        Facts {
            client: present(subject.client),
            tenant: present(subject.tenant),
            tier: present(subject.tier),
            address,
            ip: present(Some(std::str::from_utf8(ip).expect("an address is ASCII"))),
            method: subject.method,
            path: normalise(subject.path, path),
            subject,
        }
    }

    /// The header of that name, which is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        present(self.subject.headers.get(name))
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&'a str> {
        present(self.subject.attributes.get(name))
    }
}

/// Nothing is no value: it would make one shared bucket of all who have none.
fn present(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}
