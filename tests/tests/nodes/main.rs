//! Several nodes in one process that know of each other: whichever is asked, the owner of a key decides.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real sockets")]
#![allow(unreachable_pub, reason = "nobody imports a test")]

mod native;
mod system;
mod wire;
