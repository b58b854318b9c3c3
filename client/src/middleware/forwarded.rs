//! Where a request comes from, behind proxies that the rules trust.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::HeaderName;
use tallyring_protocol::rules::{self, Network};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// As [`rules::client_address`], of the entries of every `X-Forwarded-For`, the last line's first. A line that is no text
/// has one entry, which is no address.
pub(super) fn client_address(headers: &HeaderMap, peer: IpAddr, trusted: &[Network]) -> IpAddr {
    let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
    rules::client_address(lines.flat_map(|line| line.to_str().unwrap_or("?").rsplit(',')), peer, trusted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// `lines` are the headers of a request from a proxy at 10.0.0.1.
    fn check(lines: &[&[u8]], expect: &str) {
        let lines = lines.iter().map(|line| (X_FORWARDED_FOR, HeaderValue::from_bytes(line).unwrap()));
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let client = client_address(&lines.collect(), IpAddr::from([10, 0, 0, 1]), &trusted);
        assert_eq!(client.to_string(), expect);
    }

    #[test]
    fn entries_are_read_from_the_right_over_all_lines() {
        check(&[], "10.0.0.1");
        check(&[b"6.6.6.6, 198.51.100.7"], "198.51.100.7");
        check(&[b"6.6.6.6", b"198.51.100.7", b"10.0.0.9, 10.0.0.8"], "198.51.100.7");
    }

    #[test]
    fn a_line_that_is_no_text_ends_the_search() {
        check(&[b"198.51.100.7", b"\xFF"], "10.0.0.1");
        check(&[b"198.51.100.7", b"\xFF", b"10.0.0.9"], "10.0.0.9");
    }
}
