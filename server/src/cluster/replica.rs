//! Replication: what an owner counts, kept a second time by the next node on the ring, so that a crash forgets little or
//! nothing.
//!
//! ```text
//! owner's shard                                     replica's shards
//! engine ─ changes, export ─► Source ─► Stream  ═══ flushes ═══►  Standby ─ import ─► engine
//!                              │          ▲                          │
//!                           Waiters ◄─────┴───── acknowledgements ◄──┘
//! ```
//! - What travels is the resulting *state* of the keys that changed, never the calls: one record a key and flush, the
//!   newest. The engine notes which keys a call changed ([`Engine::follow_changes`]); every few milliseconds
//!   [`Source::flush`] reads those once and puts each replica's part behind what its [`Stream`] has to send.
//! - A stream is ordered. Each [`Flush`] has a [`Version`], (epoch, sequence), and names the one that it follows, so a
//!   [`Standby`] knows when one is missing, and takes none twice. Flushes of an epoch that is over are refused: a paused
//!   owner that wakes up changes nothing ([`Standby::fence`]).
//! - What is not acknowledged is kept, up to [`KEPT_BYTES_MAX`]: a lost connection goes on where the replica stands. What
//!   cannot be kept is made up for by a *fill*: a cursor over the table, a bounded step each flush, while calls go on. A
//!   record that changes behind the cursor comes with the changes, which are read after each step. At the fill's end the
//!   replica forgets what it had before and was not brought; until then it keeps that, since it may be all there is.
//! - State that is whole again is not deleted by a record: it is whole at the same microsecond on both sides, in cluster
//!   time, and the replica's own sweep forgets it. A reset, a refund to whole, a settlement and a last release are records.
//! - The parts of a `check_all`, and a reservation and its counter, lie on one place of the ring, and what lies on one
//!   place is never parted: it is read at one instant, goes in one flush and is taken in by one engine, or none.
//! - A `sync` reply waits ([`Waiters`]) for the reading that will find its change ([`Source::awaited`]), until the stream of
//!   its key says that this has [`arrived`](Stream::arrived). Without a replica none ever does.
//!
//! **How much a crash forgets.** The replica has the exact state as of what it has acknowledged, so after a failover it
//! admits at most what was charged since: [`Lag::units`], an exact bound that is exported. For replies that have waited it
//! is zero. This holds for a replica that is whole; the first fill after a failover has to end before the next one.
//!
//! **What it costs.** Callgrind counts ten instructions for each decision that charges while a replica follows, and none
//! that were not there before while none does; a token bucket takes 24 bytes on the wire, a flush of a few keys some sixty
//! more. A test holds the bytes, and the bench `instructions` the rest.
//!
//! Invariants: nothing here waits, reads a clock or opens a socket; every queue has a bound, and overflow is a fill.
//!
//! Not here: who is whose replica (the ring), who still owns (leases), and the connections. No node uses it yet.

mod flush;
mod source;
mod standby;
mod stream;
mod waiters;

#[cfg(test)]
mod tests;

pub use flush::{FLUSH_BYTES_MAX, Flush, FlushError, Stage};
pub use source::{FLUSH_EVERY_US, Source, TooManyReplicas};
pub use standby::{Refusals, Refused, Standby};
pub use stream::{FILL_BYTES_AHEAD_MAX, FILL_RECORDS_MAX, KEPT_BYTES_MAX, KEPT_FLUSHES_MAX, Lag, Reading, Stream};
pub use waiters::{WAITERS_MAX, Waiters};

#[cfg(doc)]
use tallyring_engine::{Engine, Version};
