//! What a shard knows of one native connection: its limits, its role, its way back from other shards.

use std::sync::Arc;

use tallyring_engine::{Algorithm, LimitId};
use tallyring_protocol::bounds::HANDLES_MAX;
use tallyring_protocol::{AlgorithmCode, Malformed, Role};

use super::command::Definition;
use super::outlet::Outlet;
use super::rules::Delivery;
use crate::limits::code_of;

/// Requests of one connection that other shards may be deciding at once; one more is answered `overloaded`.
pub(super) const FORWARDS_MAX: usize = 1_024;

/// A defined limit.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) id: LimitId,
    pub(super) algorithm: AlgorithmCode,
    /// For the shards that the keys of this connection should not have come to.
    pub(super) definition: Arc<Definition>,
}

/// What becomes of a request about a key of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// The client is told whose the key is, and goes there.
    Named,
    /// It is taken there: the client knows of one node alone.
    Forwarded,
}

/// The way back to one connection from the shards and nodes that decide requests of it.
#[derive(Debug)]
pub(super) struct WayBack {
    pub(super) outlet: Arc<Outlet>,
    pub(super) foreign: Foreign,
    in_flight: usize,
}

impl WayBack {
    pub(super) fn new(foreign: Foreign) -> WayBack {
        WayBack { outlet: Arc::default(), foreign, in_flight: 0 }
    }

    /// Whether as many requests are on their way as may be.
    pub(super) fn is_full(&self) -> bool {
        self.in_flight == FORWARDS_MAX
    }

    /// A request has left for another shard.
    pub(super) fn leave(&mut self) {
        self.in_flight += 1;
    }

    /// Its reply is here.
    pub(super) fn arrive(&mut self) {
        self.in_flight -= 1;
    }
}

/// The state of one native connection.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) role: Role,
    pub(super) way: WayBack,
    /// The rules document that the connection has asked for and not been sent yet.
    pub(super) delivery: Option<Delivery>,
    handles: Vec<Option<Handle>>,
}

impl Session {
    pub(super) fn new(role: Role) -> Session {
        Session { role, way: WayBack::new(Foreign::Named), delivery: None, handles: Vec::new() }
    }

    /// The limit behind a handle.
    #[inline]
    pub(super) fn handle(&self, handle: u16) -> Result<&Handle, Malformed> {
        let found = self.handles.get(usize::from(handle)).and_then(Option::as_ref);
        found.ok_or(Malformed::new("handle", "no limit was defined under it on this connection"))
    }

    /// Puts a limit behind a handle and returns the one that was there.
    pub(super) fn define(&mut self, handle: u16, id: LimitId, definition: Definition) -> Option<Handle> {
        assert!(handle < HANDLES_MAX, "a frame with a larger handle is malformed");
        let at = usize::from(handle);
        if self.handles.len() <= at {
            self.handles.resize_with(at + 1, || None);
        }
        let algorithm: Algorithm = definition.limit.algorithm();
        self.handles[at].replace(Handle { id, algorithm: code_of(algorithm), definition: Arc::new(definition) })
    }

    /// Every limit of the connection, which ends; none is left.
    pub(super) fn take_handles(&mut self) -> impl Iterator<Item = Handle> {
        std::mem::take(&mut self.handles).into_iter().flatten()
    }
}
