//! The log as openraft asks for it: the store, with every write beside the runtime, so that heartbeats go on meanwhile.

use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;

use openraft::storage::{LogFlushed, LogState, RaftLogStorage};
use openraft::{OptionalSend, RaftLogReader, StorageIOError};

use super::store::{Store, StoreError};
use super::{Entry, LogId, StorageError, Types, Vote};
use crate::sys::spawn;

/// Bytes of entries that are sent to a follower at once, unless a single one is longer: what a link of 1 Gbit/s carries
/// in 2 ms, so that a heartbeat never waits for long.
pub const BATCH_BYTES_MAX: usize = 256 * 1024;

/// Bytes of entries that are read at once otherwise.
const READ_BYTES_MAX: usize = 256 << 20;

/// The log of a node.
#[derive(Clone, Debug)]
pub struct Log(Store);

impl Log {
    /// The log in a store.
    pub fn new(store: Store) -> Log {
        Log(store)
    }

    /// Writes beside the runtime.
    async fn write(
        &self,
        what: impl FnOnce(&Store) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let store = self.0.clone();
        spawn::blocking(move || what(&store)).await
    }
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry>, StorageError> {
        Ok(self.0.entries(range, READ_BYTES_MAX).map_err(|error| StorageIOError::read_logs(&error))?)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry>, StorageError> {
        Ok(self.0.entries(start..end, BATCH_BYTES_MAX).map_err(|error| StorageIOError::read_logs(&error))?)
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let (last_purged_log_id, last_log_id) = self.0.ends().map_err(|error| StorageIOError::read_logs(&error))?;
        Ok(LogState { last_purged_log_id, last_log_id })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        let vote = *vote;
        let saved = self.write(move |store| store.save_vote(&vote)).await;
        Ok(saved.map_err(|error| StorageIOError::write_vote(&error))?)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(self.0.vote().map_err(|error| StorageIOError::read_vote(&error))?)
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        let saved = self.write(move |store| store.save_committed(committed)).await;
        Ok(saved.map_err(|error| StorageIOError::write_logs(&error))?)
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(self.0.committed().map_err(|error| StorageIOError::read_logs(&error))?)
    }

    async fn append<I>(&mut self, entries: I, flushed: LogFlushed<Types>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<Entry> = entries.into_iter().collect();
        let appended = self.write(move |store| store.append(&entries)).await;
        flushed.log_io_completed(appended.map_err(io::Error::other));
        Ok(())
    }

    async fn truncate(&mut self, first: LogId) -> Result<(), StorageError> {
        let truncated = self.write(move |store| store.truncate(first.index)).await;
        Ok(truncated.map_err(|error| StorageIOError::write_logs(&error))?)
    }

    async fn purge(&mut self, last: LogId) -> Result<(), StorageError> {
        let purged = self.write(move |store| store.purge(last)).await;
        Ok(purged.map_err(|error| StorageIOError::write_logs(&error))?)
    }
}
