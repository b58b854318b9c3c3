//! What callers of an API see, over real sockets: HTTP → layer → native protocol → a node whose clock is set by hand.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real sockets")]
#![allow(unreachable_pub, reason = "nobody imports a test")]

mod connection;
mod crowd;
mod streams;
mod system;
mod waits;
