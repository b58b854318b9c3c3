//! A snapshot: a node's counters in one file, for a full restart.
//!
//! What goes in are the engine's own [`Batch`]es, so a snapshot knows no shard: a node with other shards hands each the
//! records that it owns ([`Batch::retain`]). It is fuzzy, each key as it stood when it was read, and it is a whole file or
//! none: a new one is written beside the old one, made durable, and then takes its name, so that whatever happens in
//! between, there is one complete snapshot. Reading goes over the file twice: the first pass checks every sum and every
//! record, so that a file that is torn, cut, changed, or another cluster's is refused before anything of it is used.
//!
//! ```text
//! header   "TALLYSNP" · format u32 · fingerprint of the hash keys, 16 bytes · crc u32
//! block    length u32 (at least 1) · crc u32 of length and body · body: one batch, bincode          (any number of times)
//! trailer  0 u32 · blocks u64 · records u64 · crc u32 of the file so far · crc u32 of the trailer
//! ```
//! Integers are little-endian, sums CRC-32 as in IEEE 802.3. The fingerprint is there because identities are keyed hashes:
//! under other keys they would name other callers.
//!
//! Files block: write and read from a thread that may wait, never from a shard's.
//!
//! ```
//! use tallyring::snapshot::{self, Fingerprint};
//! use tallyring_engine::*;
//! use tallyring_protocol::{IdentityKey, PlacementSeed};
//!
//! let of = Fingerprint::new(PlacementSeed([1; 16]), &IdentityKey([2; 16]));
//! let mut before = Engine::new(Bounds::default());
//! let limit = Limit::new(Algorithm::TokenBucket, 5, Period::Micros(60_000_000), None)?;
//! let id = before.intern("per-ip", limit)?;
//! let (key, now) = (Identity { placement: 1, identity: 2 }, Timestamp::from_micros(7));
//! before.check(now, key, id, Ask::new(4))?;
//!
//! // All steps of an export, one batch each; here one step is enough.
//! let (batch, _next) = before.export(now, &Placements::all(), Cursor::START, 1_000);
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("counters.snapshot");
//! snapshot::write(&path, of, [batch])?;
//!
//! // After the restart.
//! let mut after = Engine::new(Bounds::default());
//! for batch in snapshot::read(&path, of)? {
//!     // A snapshot is in order, and nothing else has arrived yet: each batch may replace what the one before it said.
//!     after.import(now, &mut Intake::in_order(), &batch?)?;
//! }
//! let id = after.intern("per-ip", limit)?;
//! assert_eq!(after.check(now, key, id, Ask::PEEK)?.remaining, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A batch's bytes are also what travels from an owner to a replica (`cluster::replica`).
//!
//! Not here: when a snapshot is taken, and which ranges of an old one still count (`node`, `cluster`).

mod checked;
mod error;
mod fingerprint;
mod frame;
mod reader;
mod wire;
mod writer;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use error::{Fault, ReadError, WriteError};
pub use fingerprint::Fingerprint;
pub use reader::{Snapshot, read};
pub(crate) use wire::WirePeriod;
pub(crate) use wire::{decode, encode};
pub use writer::{Writer, Written, write};

#[cfg(doc)]
use tallyring_engine::Batch;

/// Bytes of one batch's encoding. An export's step is a few megabytes at most, with the longest logs in it.
pub const BLOCK_BYTES_MAX: usize = 32 << 20;
