//! The layer in front of an axum service, without sockets between client and gateway.

#![cfg(all(feature = "tower", not(feature = "sim")))]
#![allow(unreachable_pub, clippy::unwrap_used, reason = "nobody imports a test, and it may panic")]

#[path = "../fake/mod.rs"]
mod fake;
mod gateway;

mod exempt;
mod extensions;
mod headers;
mod holding;
mod identity;
mod layers;
mod refusals;
mod services;
