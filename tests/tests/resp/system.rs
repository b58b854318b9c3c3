//! A node on free ports, its clock set by hand if a test wants that.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU64;

use tallyring::config::Config;
use tallyring::node::Node;
use tallyring::sys::clock::Clock;
use tallyring::tokens::{TokenHash, Tokens};

/// The tokens of a node that has some.
pub(crate) const CLIENT: &str = "client-secret";
pub(crate) const ADMIN: &str = "admin-secret";

pub(crate) fn config(shards: u16) -> Config {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let shards = shards.to_string().parse().unwrap();
    Config { native_addr: any, http_addr: any, resp_addr: any, peer_addr: any, shards, ..Config::default() }
}

pub(crate) fn with_tokens(config: Config) -> Config {
    let tokens = Tokens { client: vec![TokenHash::of(CLIENT)], admin: vec![TokenHash::of(ADMIN)], ..Tokens::default() };
    Config { tokens, ..config }
}

/// Runs a test that blocks beside a node.
pub(crate) async fn with_node(config: Config, test: impl FnOnce(SocketAddr) + Send + 'static) {
    on(Clock::start(), config, test).await;
}

/// The same, and the test moves the node's clock, in microseconds.
pub(crate) async fn with_clock(config: Config, test: impl FnOnce(SocketAddr, &'static AtomicU64) + Send + 'static) {
    let now_us: &'static AtomicU64 = Box::leak(Box::default());
    on(Clock::set_by_hand(now_us), config, move |address| test(address, now_us)).await;
}

async fn on(clock: Clock, config: Config, test: impl FnOnce(SocketAddr) + Send + 'static) {
    let node = Node::start_on(clock, config).await.unwrap();
    let address = node.resp_addr();
    tokio::task::spawn_blocking(move || test(address)).await.unwrap();
    node.drain().await;
}
