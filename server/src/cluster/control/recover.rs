//! A cluster whose majority is gone for good: one survivor founds it anew from what its disk holds.
//!
//! What others agreed on and this disk never got is lost; nothing else is. The cluster has another name from then on, so that nodes
//! of the old one, should they run after all, are refused by the new one and refuse it.

use std::collections::BTreeMap;

use openraft::{BasicNode, CommittedLeaderId, EntryPayload};
use tallyring_protocol::NodeId;

use super::change::ClusterId;
use super::raft::store::{Identity, Store, StoreError};
use super::raft::{LogId, Membership, SnapshotMeta, Vote};
use super::state::State;
use crate::sys::random;

/// Bytes of entries that are read at once.
const READ_BYTES_MAX: usize = 64 << 20;

/// What a survivor's disk holds.
#[derive(Debug)]
pub struct Remains {
    store: Store,
    identity: Identity,
    state: State,
    last: LogId,
    committed: u64,
    term: u64,
}

/// A disk that no cluster can be founded from.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No node has ever been in a cluster with it.
    #[error("no node was in a cluster with this folder")]
    Nobody,
    /// The node left before.
    #[error("node {} has left the cluster: take another survivor", .0.0)]
    Left(NodeId),
    /// There is nobody to be without.
    #[error("node {} is the only member: start it", .0.0)]
    Alone(NodeId),
}

impl Remains {
    /// Looks at what a store holds, and changes nothing.
    ///
    /// # Errors
    /// [`RecoverError`].
    pub fn examine(store: Store) -> Result<Remains, RecoverError> {
        let identity = store.owner()?.ok_or(RecoverError::Nobody)?;
        let (mut state, mut last) = match store.snapshot()? {
            None => (State::default(), None),
            Some((meta, bytes)) => (store.state(&bytes)?, meta.last_log_id),
        };
        loop {
            let next = last.map_or(0, |last: LogId| last.index + 1);
            let entries = store.entries(next.., READ_BYTES_MAX)?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                last = Some(entry.log_id);
                if let EntryPayload::Normal(change) = entry.payload {
                    state.apply(&change);
                }
            }
        }
        let last = last.filter(|_| state.cluster().is_some()).ok_or(RecoverError::Nobody)?;
        match state.members().get(&identity.node) {
            None => return Err(RecoverError::Left(identity.node)),
            Some(_) if state.members().len() == 1 => return Err(RecoverError::Alone(identity.node)),
            Some(_) => {}
        }
        let committed = store.committed()?.map_or(0, |committed| committed.index + 1);
        let term = store.vote()?.map_or(0, |vote| vote.leader_id.term).max(last.leader_id.term);
        Ok(Remains { store, identity, state, last, committed, term })
    }

    /// Whose disk it is.
    pub fn node(&self) -> NodeId {
        self.identity.node
    }

    /// What all agreed on, as far as the disk holds it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The term of the last entry, and how many entries there ever were: of several survivors, the greatest lost least.
    pub fn end(&self) -> (u64, u64) {
        (self.last.leader_id.term, self.last.index + 1)
    }

    /// Entries that a majority is known to have held; those after them are taken as if it had.
    pub fn committed(&self) -> u64 {
        self.committed
    }

    /// Founds the cluster anew, at `now_us`, with this node alone.
    ///
    /// # Errors
    /// The disk says no; then it is as it was.
    pub fn found_anew(self, now_us: u64) -> Result<(), StoreError> {
        let me = self.identity.node;
        let state = self.state.recovered(me, ClusterId(u128::from_le_bytes(random::seed())), now_us);
        let term = self.term + 1;
        let last = LogId::new(CommittedLeaderId::new(term, me.0), self.last.index + 1);
        let address = state.members()[&me].addresses.peer.clone();
        let nodes = BTreeMap::from([(me.0, BasicNode { addr: address })]);
        let alone = openraft::Membership::new(vec![[me.0].into()], nodes);
        let meta = SnapshotMeta {
            last_log_id: Some(last),
            last_membership: Membership::new(Some(last), alone),
            snapshot_id: last.to_string(),
        };
        self.store.start_over(&meta, &state.encode(), last, &Vote::new(term, me.0))
    }
}
