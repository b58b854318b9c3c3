//! The state as openraft drives it: entries that a quorum holds are applied, and whoever watches sees each state in turn.

use std::io::Cursor;
use std::sync::Arc;

use openraft::storage::{RaftStateMachine, Snapshot};
use openraft::{EntryPayload, OptionalSend, RaftSnapshotBuilder, StorageIOError};
use tokio::sync::watch;

use super::super::outcome::Outcome;
use super::super::state::State;
use super::store::{Store, StoreError};
use super::{Entry, LogId, Membership, SnapshotMeta, StorageError, Types};
use crate::sys::spawn;

/// The state of a node, and what is known of the log that led to it.
#[derive(Clone, Debug)]
struct Applied {
    last: Option<LogId>,
    membership: Membership,
    state: Arc<State>,
}

/// The state machine of a node.
#[derive(Debug)]
pub struct Machine {
    store: Store,
    applied: Applied,
    states: watch::Sender<Arc<State>>,
}

/// Writes down a state.
#[derive(Debug)]
pub struct Photographer {
    store: Store,
    applied: Applied,
}

impl Machine {
    /// The state that a store's snapshot holds, and where to watch it; what the log holds beyond that comes with openraft.
    ///
    /// # Errors
    /// [`StoreError`]: the snapshot is damaged or another program's.
    pub fn open(store: Store) -> Result<(Machine, watch::Receiver<Arc<State>>), StoreError> {
        let applied = match store.snapshot()? {
            None => Applied { last: None, membership: Membership::default(), state: Arc::default() },
            Some((meta, bytes)) => Applied::read(&meta, &bytes).map_err(|error| store.failed(error.into()))?,
        };
        let (states, watch) = watch::channel(Arc::clone(&applied.state));
        Ok((Machine { store, applied, states }, watch))
    }

    fn apply_entry(&mut self, entry: Entry) -> Outcome {
        self.applied.last = Some(entry.log_id);
        match entry.payload {
            EntryPayload::Blank => Outcome::Nothing,
            EntryPayload::Normal(change) => Arc::make_mut(&mut self.applied.state).apply(&change),
            EntryPayload::Membership(membership) => {
                self.applied.membership = Membership::new(Some(entry.log_id), membership);
                Outcome::Nothing
            }
        }
    }

    /// Shows the state to whoever watches; that nobody may is fine.
    fn show(&self) {
        self.states.send_replace(Arc::clone(&self.applied.state));
    }
}

impl Applied {
    fn read(meta: &SnapshotMeta, bytes: &[u8]) -> Result<Applied, super::super::codec::CodecError> {
        let state = Arc::new(State::decode(bytes)?);
        Ok(Applied { last: meta.last_log_id, membership: meta.last_membership.clone(), state })
    }

    fn meta(&self) -> SnapshotMeta {
        let at = self.last.map_or_else(|| "nothing".to_owned(), |last| last.to_string());
        SnapshotMeta { last_log_id: self.last, last_membership: self.membership.clone(), snapshot_id: at }
    }
}

impl RaftSnapshotBuilder<Types> for Photographer {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError> {
        let (store, meta, state) = (self.store.clone(), self.applied.meta(), Arc::clone(&self.applied.state));
        let taken = meta.clone();
        let written = spawn::blocking(move || {
            let bytes = state.encode();
            store.save_snapshot(&taken, &bytes).map(|()| bytes)
        });
        let bytes = written.await.map_err(|error| StorageIOError::write_snapshot(Some(meta.signature()), &error))?;
        Ok(Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) })
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotBuilder = Photographer;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), StorageError> {
        Ok((self.applied.last, self.applied.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Outcome>, StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let outcomes = entries.into_iter().map(|entry| self.apply_entry(entry)).collect();
        self.show();
        Ok(outcomes)
    }

    async fn get_snapshot_builder(&mut self) -> Photographer {
        Photographer { store: self.store.clone(), applied: self.applied.clone() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let bytes = snapshot.into_inner();
        let applied = Applied::read(meta, &bytes)
            .map_err(|error| StorageIOError::read_snapshot(Some(meta.signature()), &error))?;
        let (store, taken) = (self.store.clone(), meta.clone());
        let written = spawn::blocking(move || store.save_snapshot(&taken, &bytes)).await;
        written.map_err(|error| StorageIOError::write_snapshot(Some(meta.signature()), &error))?;
        self.applied = applied;
        self.show();
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError> {
        let found = self.store.snapshot().map_err(|error| StorageIOError::read_snapshot(None, &error))?;
        Ok(found.map(|(meta, bytes)| Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) }))
    }
}
