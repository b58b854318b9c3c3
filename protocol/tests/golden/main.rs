//! What other programs see, byte by byte: golden frames and golden placements.
//!
//! The files in `testdata/` were made by another implementation, `tests/python/native_client.py`, which was written from
//! `docs/protocol.md` alone. So these tests compare two readings of the protocol, not this crate with itself.

mod frames;
mod messages;
mod placements;
mod section;
