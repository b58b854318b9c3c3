//! What nodes say to each other: one question at a time on a connection, each with its answer.
//!
//! ```text
//! frame     length u32, little-endian, 1 ..= FRAME_BYTES_MAX · a value in `control::codec`'s layout
//! one side  hello · ask · ask …          the other   greeting · answer · answer …
//! ```
//! Nothing queues: a connection carries one question, whoever has another one opens another connection, and a node takes
//! [`SESSIONS_MAX`] of them. A question that was given up takes its connection with it, so that no answer is taken for
//! another question's.

pub mod frame;
pub mod hello;
pub mod line;
pub mod message;
pub mod reception;

use std::time::Duration;

/// The version of what nodes say to each other. A program speaks with its own and the one before.
pub const PEER_VERSION: u16 = 1;

/// Longest frame, in bytes: a piece of a snapshot, or a packed rules document, and what is around it.
pub const FRAME_BYTES_MAX: usize = 2 << 20;

/// Connections of other nodes at once: each of a thousand members may have a few.
pub const SESSIONS_MAX: usize = 4_096;

/// How long who has connected may take to say who it is.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a connection may ask for nothing. A leader asks several times a second.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long an answer may take to be written: who does not read it is gone.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
