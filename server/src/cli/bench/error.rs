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
    #[error("{label} at {addr}: {source}")]
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
