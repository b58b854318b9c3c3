//! What can end a benchmark before its table.

use std::io;
use std::net::SocketAddr;

/// Why there is no result, or why it cannot be trusted. The text is for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub(super) enum BenchError {
    #[error("{host}: no such host: {source}")]
    Unresolved { host: String, source: io::Error },
    #[error("{url}: not a loopback address; a benchmark overloads what it measures: add --yes if that is meant")]
    NotLoopback { url: String },
    #[error("{label} at {addr}: {}", told(.source))]
    Socket { label: String, addr: SocketAddr, source: io::Error },
    #[error("{label} at {addr}: {reason}")]
    Refused { label: String, addr: SocketAddr, reason: String },
    #[error("{program} could not be started: {source}")]
    Spawn { program: &'static str, source: io::Error },
    #[error("{program} does not accept connections at {addr} after {waited_ms} ms")]
    NotReady { program: &'static str, addr: SocketAddr, waited_ms: u128 },
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("{path}: {source}")]
    Write { path: String, source: io::Error },
    #[error("a store of ours did not admit the exact number: see the table")]
    Inexact,
    #[error("interrupted")]
    Interrupted,
}

/// What the system says of a connection, in the words of somebody who may mend it.
fn told(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::ConnectionRefused => "nobody listens there: start it, or name another target".to_owned(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            format!("it hangs up ({source}): it may speak something else, or TLS, which is not measured")
        }
        _ => source.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_not_there_is_told_from_one_that_hangs_up() {
        let check = |kind: io::ErrorKind, expect: &str| {
            let addr = SocketAddr::from(([127, 0, 0, 1], 9));
            let error = BenchError::Socket { label: "native".to_owned(), addr, source: kind.into() };
            assert!(error.to_string().starts_with(&format!("native at 127.0.0.1:9: {expect}")), "{error}");
        };
        check(io::ErrorKind::ConnectionRefused, "nobody listens there: ");
        check(io::ErrorKind::UnexpectedEof, "it hangs up (");
        check(io::ErrorKind::TimedOut, "timed out");
    }
}
