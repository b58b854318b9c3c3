//! Doors of nodes that do not own a key: whichever is asked, the owner's answer is given.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real sockets")]
#![allow(unreachable_pub, reason = "nobody imports a test")]

mod http;
mod lost;
mod resp;
mod tls;
mod web;

/// Runs what blocks beside the nodes' own threads.
async fn play<T: Send + 'static>(play: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(play).await.unwrap()
}
