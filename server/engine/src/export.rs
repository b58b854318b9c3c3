//! State on the move: what leaves an engine for another one, or for a disk, and comes back.
//!
//! A [`Batch`] is the *resulting state* of some keys as one engine read it at one instant, not the calls that led there:
//! whoever takes it in decides from then on as if the keys had never moved. It is self-contained (instants, counts and
//! the limits they stand under; no entry number, no shard), so it fits an engine with other shards, bounds and rules.
//!
//! **Where a version lives.** An entry is half a cache line, the one that the hot path waits for; eight or sixteen bytes
//! more for a number that only moving needs would be paid by every key and every call. So no entry has a version:
//! - *Going out*, a version is the place of a batch in its engine's stream: (epoch, sequence), and the sequence grows by
//!   one with each batch ([`outflow`]). State that is read later is in a later batch, so the order of batches is the
//!   order of each key's states, and nothing has to be remembered a key.
//! - *Coming in*, versions belong to the transfer ([`Intake`]), which whoever runs it holds beside the engine. Where
//!   batches come in order one number is enough: everything up to it is old. Where they may overtake each other or
//!   come twice, the intake remembers one version a record, deletions too, until it is told that everything up to some
//!   version has arrived, and forgets those. A late record of a transfer that is over finds no intake: the ring's epoch
//!   fences it off, outside of the engine.
//!
//! **What is sent.** [`Engine::export`](crate::Engine::export) walks the table by entry number, a bounded step at a time
//! with calls between; entries never move, so a key that is there from the first step to the last is read exactly once.
//! What changes meanwhile is noted, from [`follow_changes`](crate::Engine::follow_changes) on, as an entry's number in a
//! list: once a writing call while someone follows, nothing for a call that was refused. [`changes`](crate::Engine::changes)
//! reads the noted keys as they stand and empties the list. All of it is one batch, or, if that is too much for one, some
//! places of the ring and then the others: the parts of one `check_all` must arrive together, and have one place.
//!
//! **What is not sent.** State that is whole again is fresh state, here and there, from the same microsecond on: an export
//! skips it, and a sweep tells nobody. A deletion is sent only for a call that caused it: a reset, a refund or a
//! settlement that made a budget whole, a release of the last slot, the end of a reservation.
//!
//! **Filling anew** a range of which something older is there (a replica that was away for too long) forgets nothing first,
//! since what is there may be needed before the fill is over: an [`Intake::refill`] remembers what was brought, a bit a
//! key, and [`discard_unseen`](crate::Engine::discard_unseen) forgets the rest in the end.
//!
//! **Taking in** is all or nothing a batch, checked before anything is touched: a record that no engine writes is refused
//! ([`ImportError::Malformed`]) whatever sum it came under, so that nothing on a disk or from a peer can break an
//! invariant that the algorithms rely on.
//!
//! The operations are in `engine/export.rs` and `engine/import.rs`; how bytes are laid out is the business of whoever has
//! a disk or a socket.

pub(crate) mod intake;
pub(crate) mod outflow;
pub(crate) mod placements;
pub(crate) mod record;
pub(crate) mod seen;
pub(crate) mod state;
pub(crate) mod version;

#[cfg(doc)]
use crate::export::{intake::Intake, record::Batch};
