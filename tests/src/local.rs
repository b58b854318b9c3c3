//! A node on this machine alone, as tests start it.

use std::net::{Ipv4Addr, SocketAddr};

use tallyring::config::Config;

/// Any free port of this machine.
pub fn any_port() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// A node of so many shards, with every door at any port.
///
/// # Panics
/// If no node has so many shards.
pub fn config(shards: u16) -> Config {
    let any = any_port();
    let shards = shards.to_string().parse().expect("a number that a node may have");
    Config { native_addr: any, http_addr: any, resp_addr: any, peer_addr: any, shards, ..Config::default() }
}
