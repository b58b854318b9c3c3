//! The RESP door as its clients see it: a node in this process, over its sockets.
#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real threads")]

mod cases;
mod hostile;
mod opening;
mod order;
mod system;
mod tokens;
