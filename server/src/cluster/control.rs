//! The control plane: what all nodes of a cluster agree on.
//!
//! A *change* is proposed, put in order among all others, and applied to the *state* of every node: the members, the ring
//! and its epoch, the rules with their history, the seeds of the hashes, the feature level. Decisions about keys never
//! wait for any of this.
//!
//! Invariants:
//! - The state is a pure function of the changes and their order: no clock, no entropy, no I/O, no iteration order that is
//!   not the values' own.
//! - A change that was applied once is not applied again, also if its author, who got no answer, proposes it again.
//! - The epoch never falls, and no two rings share one.
//!
//! Not here: what the members say to clients (`super::view`).

pub mod change;
pub mod codec;
pub mod member;
pub mod outcome;
pub mod packed;
pub mod raft;
pub mod state;
pub mod voters;
