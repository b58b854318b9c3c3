//! What two tallyring processes must agree on: frames and their fields, keys and their placement, the ring.
//!
//! The data path of a request through this crate is `frame` (where does it end?) → `request` (what does it say?) →
//! `key` and `ring` (whose is it?) → `reply` (what was decided?). Every layout is written by hand, little-endian, and
//! pinned by golden bytes in `testdata/`; `docs/protocol.md` describes it for other languages.
//!
//! Invariants:
//! - No I/O, no clock, no allocation while a hot request is read: a [`Request`] borrows from the bytes it was read from.
//! - Every length is compared with a bound of [`bounds`] before anything is allocated for it.
//! - "Not enough bytes yet" is `Ok(None)`, never an error: see [`frame::split`].
//!
//! Not here: what a request decides (`tallyring-engine`), sockets (`tallyring`, `tallyring-client`).

pub mod bounds;
pub mod code;
mod fields;
pub mod frame;
pub mod headers;
pub mod hello;
pub mod key;
mod parts;
pub mod problem;
pub mod reply;
pub mod request;
pub mod ring;
pub mod rules;
mod sip;
pub mod topology;

pub use code::{AlgorithmCode, GoodbyeCode, Kind, Role};
pub use fields::{Malformed, path_of};
pub use frame::{Frame, FrameError};
pub use hello::{Hello, Welcome};
pub use key::{IdentityHasher, IdentityKey, Key, KeyError, KeyRef, Placement, PlacementSeed, RawKey};
pub use reply::Reply;
pub use request::{
    Acquire, Charge, Define, LocalCounts, Parts, PeriodCode, Refund, Release, Report, Request, Reserve, Settle,
};
pub use ring::{NodeId, Ring, shard_of};
pub use rules::RulesVersion;
pub use topology::{Node, Topology};

/// The version of the native protocol that this crate speaks; a hello with another one is refused.
pub const PROTOCOL_VERSION: u16 = 1;

/// The name of the protocol, with its version, where a TLS handshake asks for one (ALPN).
pub const ALPN: &[u8] = b"tallyring/1";
