//! What a node's part of the control plane keeps on its disk: one redb database, each change of it one transaction, which
//! is on the disk when the call returns.

use std::fmt;
use std::io::ErrorKind;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tallyring_protocol::NodeId;

use super::super::codec::{self, CodecError};
use super::super::member::NodeKey;
use super::super::state::State;
use super::{Entry, LogId, SnapshotMeta, Vote};
use crate::sys::random;

/// The file in a node's data folder.
pub const FILE: &str = "control.redb";

/// Memory that the database may take for what it has read, in bytes. The log is short and read once.
const CACHE_BYTES_MAX: usize = 16 << 20;

/// The log, by index.
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

/// Everything of which there is one.
const SINGLE: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("single");

const IDENTITY: &str = "identity";
const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const PURGED: &str = "purged";
const SNAPSHOT_META: &str = "snapshot meta";
const SNAPSHOT: &str = "snapshot";

/// A node's part of the control plane, on the disk.
#[derive(Clone)]
pub struct Store {
    database: Arc<Database>,
    /// For messages.
    place: Arc<str>,
    /// Whether it outlives the process.
    is_lasting: bool,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.place)
    }
}

/// Who a data folder belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The node's number.
    pub node: NodeId,
    /// Tells the node from another one of the same number.
    pub key: NodeKey,
}

/// What a node can do nothing about: it must not go on.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct StoreError {
    /// The file.
    pub place: String,
    /// What is wrong with it and what to do.
    #[source]
    pub fault: StoreFault,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// Another process has it open.
    #[error("another node uses it")]
    Locked,
    /// It is no database, or bytes of it have changed.
    #[error("is damaged ({reason}): restore it from a backup, or move it away and let the node join again")]
    Damaged {
        /// What was found.
        reason: String,
    },
    /// Another program wrote it.
    #[error("was written by another version of the program: {0}")]
    OtherVersion(CodecError),
    /// It is another node's.
    #[error("belongs to node {}: give --node-id {}, or another --data", found.0, found.0)]
    OtherNode {
        /// Whose it is.
        found: NodeId,
    },
    /// The disk said no.
    #[error("{0}")]
    Disk(redb::Error),
}

impl From<redb::Error> for StoreFault {
    fn from(error: redb::Error) -> StoreFault {
        match error {
            redb::Error::DatabaseAlreadyOpen => StoreFault::Locked,
            redb::Error::Corrupted(reason) => StoreFault::Damaged { reason },
            redb::Error::Io(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
                StoreFault::Damaged { reason: error.to_string() }
            }
            other => StoreFault::Disk(other),
        }
    }
}

impl From<CodecError> for StoreFault {
    fn from(error: CodecError) -> StoreFault {
        match error {
            CodecError::OtherFormat { .. } => StoreFault::OtherVersion(error),
            CodecError::Nonsense { reason } => StoreFault::Damaged { reason },
        }
    }
}

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What any call of the database may say.
type Redb<T> = std::result::Result<T, redb::Error>;

impl Store {
    /// Opens the database in a node's data folder; it is made if it is not there.
    ///
    /// # Errors
    /// [`StoreError`]: another process has it, it is damaged, or the disk says no.
    pub fn open(folder: &Path) -> Result<Store> {
        let path: PathBuf = folder.join(FILE);
        let place = path.display().to_string();
        Store::build(&place, builder().create(&path))
    }

    /// Opens a database on anything that keeps bytes; tests and simulations pull the plug of theirs.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn on(backend: impl StorageBackend) -> Result<Store> {
        Store::build("the control plane's storage", builder().create_with_backend(backend))
    }

    /// A database that ends with the process: a node without a data folder is a cluster of one until then.
    pub fn in_memory() -> Store {
        let store = Store::on(redb::backends::InMemoryBackend::new()).expect("memory says no to nothing");
        Store { is_lasting: false, ..store }
    }

    /// Whether what is written survives the end of the process.
    pub fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    fn build(place: &str, opened: std::result::Result<Database, DatabaseError>) -> Result<Store> {
        let failed = |fault| StoreError { place: place.to_owned(), fault };
        let database = opened.map_err(|error| failed(redb::Error::from(error).into()))?;
        let store = Store { database: Arc::new(database), place: place.into(), is_lasting: true };
        // Both tables are there from now on, so that readers need not ask.
        store.write(|transaction| {
            transaction.open_table(LOG)?;
            transaction.open_table(SINGLE)?;
            Ok(())
        })?;
        Ok(store)
    }

    /// Who the store belongs to: `node` from its first opening on.
    ///
    /// # Errors
    /// [`StoreFault::OtherNode`]; or the disk says no.
    pub fn identity(&self, node: NodeId) -> Result<Identity> {
        match self.get::<Identity>(IDENTITY)? {
            Some(identity) if identity.node == node => Ok(identity),
            Some(identity) => Err(self.failed(StoreFault::OtherNode { found: identity.node })),
            None => {
                let identity = Identity { node, key: NodeKey(u128::from_le_bytes(random::seed())) };
                self.put(IDENTITY, &identity)?;
                Ok(identity)
            }
        }
    }

    /// Who the store belongs to, if it was ever opened by a node.
    ///
    /// # Errors
    /// Damage, or the disk says no.
    pub fn owner(&self) -> Result<Option<Identity>> {
        self.get(IDENTITY)
    }

    /// The vote that was given last.
    ///
    /// # Errors
    /// Damage, or the disk says no; so for all that follow.
    pub fn vote(&self) -> Result<Option<Vote>> {
        self.get(VOTE)
    }

    /// Writes down a vote.
    ///
    /// # Errors
    /// The disk says no; so for all that follow.
    pub fn save_vote(&self, vote: &Vote) -> Result<()> {
        self.put(VOTE, vote)
    }

    /// Up to where a quorum is known to hold the log.
    pub fn committed(&self) -> Result<Option<LogId>> {
        Ok(self.get::<Option<LogId>>(COMMITTED)?.flatten())
    }

    /// Writes down up to where a quorum holds the log.
    pub fn save_committed(&self, committed: Option<LogId>) -> Result<()> {
        self.put(COMMITTED, &committed)
    }

    /// The last entry that is gone from the log's beginning, and the last one of the log.
    pub fn ends(&self) -> Result<(Option<LogId>, Option<LogId>)> {
        let purged = self.get(PURGED)?;
        let last = self.read(|transaction| {
            let log = transaction.open_table(LOG)?;
            let last = log.last()?;
            Ok(last.map(|(_, bytes)| bytes.value().to_vec()))
        })?;
        let last = last.map(|bytes| self.decode::<Entry>(&bytes)).transpose()?;
        Ok((purged, last.map(|entry| entry.log_id).or(purged)))
    }

    /// Whether anything was promised or logged: the node was taken into a cluster with this store.
    pub fn has_begun(&self) -> Result<bool> {
        Ok(self.vote()?.is_some() || self.ends()?.1.is_some())
    }

    /// Entries of the log, in order, until they take `bytes_max` together, but one at least.
    pub fn entries(&self, range: impl RangeBounds<u64>, bytes_max: usize) -> Result<Vec<Entry>> {
        let mut taken = 0;
        let found = self.read(|transaction| {
            let log = transaction.open_table(LOG)?;
            let mut found = Vec::new();
            for entry in log.range(range)? {
                let (_, bytes) = entry?;
                taken += bytes.value().len();
                if taken > bytes_max && !found.is_empty() {
                    break;
                }
                found.push(bytes.value().to_vec());
            }
            Ok(found)
        })?;
        found.iter().map(|bytes| self.decode(bytes)).collect()
    }

    /// Puts entries at the end of the log.
    pub fn append(&self, entries: &[Entry]) -> Result<()> {
        self.write(|transaction| {
            let mut log = transaction.open_table(LOG)?;
            for entry in entries {
                log.insert(entry.log_id.index, &*codec::encode(entry))?;
            }
            Ok(())
        })
    }

    /// Removes the log from `index` on: another leader's log goes on differently.
    pub fn truncate(&self, index: u64) -> Result<()> {
        self.write(|transaction| transaction.open_table(LOG)?.retain_in(index.., |_, _| false).map_err(Into::into))
    }

    /// Removes the log up to `last`: a snapshot holds what it did.
    pub fn purge(&self, last: LogId) -> Result<()> {
        let purged = codec::encode(&last);
        self.write(|transaction| {
            transaction.open_table(SINGLE)?.insert(PURGED, &*purged)?;
            transaction.open_table(LOG)?.retain_in(..=last.index, |_, _| false)?;
            Ok(())
        })
    }

    /// The last snapshot.
    pub fn snapshot(&self) -> Result<Option<(SnapshotMeta, Vec<u8>)>> {
        let found = self.read(|transaction| {
            let single = transaction.open_table(SINGLE)?;
            let bytes = |name: &str| Ok::<_, redb::Error>(single.get(name)?.map(|bytes| bytes.value().to_vec()));
            Ok(bytes(SNAPSHOT_META)?.zip(bytes(SNAPSHOT)?))
        })?;
        found.map(|(meta, bytes)| Ok((self.decode(&meta)?, bytes))).transpose()
    }

    /// Writes down a snapshot, in place of the last one.
    pub fn save_snapshot(&self, meta: &SnapshotMeta, bytes: &[u8]) -> Result<()> {
        let meta = codec::encode(meta);
        self.write(|transaction| {
            let mut single = transaction.open_table(SINGLE)?;
            single.insert(SNAPSHOT_META, &*meta)?;
            single.insert(SNAPSHOT, bytes)?;
            Ok(())
        })
    }

    /// The state that a snapshot's bytes are.
    ///
    /// # Errors
    /// Damage, or another program's.
    pub fn state(&self, bytes: &[u8]) -> Result<State> {
        State::decode(bytes).map_err(|error| self.failed(error.into()))
    }

    /// Writes down a snapshot that ends at `last`, in place of everything that there was: the log before it is gone.
    pub fn start_over(&self, meta: &SnapshotMeta, bytes: &[u8], last: LogId, vote: &Vote) -> Result<()> {
        let single: [(&str, &[u8]); 5] = [
            (SNAPSHOT_META, &codec::encode(meta)),
            (SNAPSHOT, bytes),
            (PURGED, &codec::encode(&last)),
            (COMMITTED, &codec::encode(&Some(last))),
            (VOTE, &codec::encode(vote)),
        ];
        self.write(|transaction| {
            transaction.open_table(LOG)?.retain(|_, _| false)?;
            let mut table = transaction.open_table(SINGLE)?;
            for (name, bytes) in single {
                table.insert(name, bytes)?;
            }
            Ok(())
        })
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let found = self.read(|transaction| {
            let single = transaction.open_table(SINGLE)?;
            let found = single.get(name)?;
            Ok(found.map(|bytes| bytes.value().to_vec()))
        })?;
        found.map(|bytes| self.decode(&bytes)).transpose()
    }

    fn put(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let bytes = codec::encode(value);
        self.write(|transaction| {
            transaction.open_table(SINGLE)?.insert(name, &*bytes)?;
            Ok(())
        })
    }

    fn read<T>(&self, what: impl FnOnce(&redb::ReadTransaction) -> Redb<T>) -> Result<T> {
        let read = self.database.begin_read().map_err(redb::Error::from).and_then(|transaction| what(&transaction));
        read.map_err(|error| self.failed(error.into()))
    }

    fn write(&self, what: impl FnOnce(&redb::WriteTransaction) -> Redb<()>) -> Result<()> {
        let written = || -> Redb<()> {
            let transaction = self.database.begin_write()?;
            what(&transaction)?;
            transaction.commit()?;
            Ok(())
        };
        written().map_err(|error| self.failed(error.into()))
    }

    fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T> {
        codec::decode(bytes).map_err(|error| self.failed(error.into()))
    }

    pub(super) fn failed(&self, fault: StoreFault) -> StoreError {
        StoreError { place: self.place.to_string(), fault }
    }
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    // The whole file is looked at when it is opened: it is small, and damage is better found before a vote than after.
    builder.set_cache_size(CACHE_BYTES_MAX).set_check_integrity_on_open(true);
    builder
}

#[cfg(test)]
mod tests;
