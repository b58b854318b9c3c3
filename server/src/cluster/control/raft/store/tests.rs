//! openraft's own tests of a store; what is there after a restart; and what a damaged or foreign folder says.

use std::fs;

use openraft::CommittedLeaderId;
use openraft::testing::{StoreBuilder, Suite};

use super::super::log::Log;
use super::super::machine::Machine;
use super::super::{StorageError, Types};
use super::*;

struct Fresh;

impl StoreBuilder<Types, Log, Machine> for Fresh {
    async fn build(&self) -> std::result::Result<((), Log, Machine), StorageError> {
        let store = Store::in_memory();
        let (machine, _) = Machine::open(store.clone()).expect("an empty store");
        Ok(((), Log::new(store), machine))
    }
}

#[cfg(not(feature = "sim"))] // it needs threads
#[test]
fn it_is_the_store_that_openraft_asks_for() {
    Suite::test_all(Fresh).unwrap();
}

fn at(index: u64) -> LogId {
    LogId::new(CommittedLeaderId::new(3, 1), index)
}

fn entry(index: u64) -> Entry {
    Entry { log_id: at(index), payload: openraft::EntryPayload::Blank }
}

fn indices(store: &Store) -> Vec<u64> {
    store.entries(.., usize::MAX).unwrap().iter().map(|entry| entry.log_id.index).collect()
}

#[test]
fn what_was_written_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let identity = {
        let store = Store::open(dir.path()).unwrap();
        store.save_vote(&Vote::new(7, 2)).unwrap();
        store.append(&(0..10).map(entry).collect::<Vec<_>>()).unwrap();
        store.save_committed(Some(at(5))).unwrap();
        store.truncate(8).unwrap();
        store.purge(at(2)).unwrap();
        store.identity(NodeId(4)).unwrap()
    };
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.vote().unwrap(), Some(Vote::new(7, 2)));
    assert_eq!(indices(&store), [3, 4, 5, 6, 7]);
    assert_eq!(store.ends().unwrap(), (Some(at(2)), Some(at(7))));
    assert_eq!(store.committed().unwrap(), Some(at(5)));
    assert_eq!(store.identity(NodeId(4)).unwrap(), identity);
    store.purge(at(7)).unwrap();
    assert_eq!(store.ends().unwrap(), (Some(at(7)), Some(at(7))), "an emptied log remembers where it ended");
}

#[test]
fn entries_are_handed_out_in_batches_of_bounded_bytes() {
    let store = Store::in_memory();
    store.append(&(0..10).map(entry).collect::<Vec<_>>()).unwrap();
    let one = codec::encode(&entry(0)).len();
    let read = |bytes_max| store.entries(2..9, bytes_max).unwrap().len();
    assert_eq!([read(0), read(one), read(3 * one), read(usize::MAX)], [1, 1, 3, 7]);
}

/// Why a folder whose database was changed like this cannot be opened.
fn check(change: impl FnOnce(&Path), expect: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let store = Store::open(dir.path()).unwrap();
    store.append(&[entry(0)]).unwrap();
    drop(store);
    change(&path);
    let error = Store::open(dir.path()).and_then(|store| store.identity(NodeId(4))).unwrap_err().to_string();
    let error = error.replace(&path.display().to_string(), "F");
    assert!(error.starts_with(expect), "{error}");
}

#[test]
fn a_folder_that_cannot_be_used_says_why() {
    check(|path| fs::write(path, b"not a database, but long enough to be one").unwrap(), "F: is damaged (");
    check(
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.truncate(bytes.len() / 2);
            fs::write(path, bytes).unwrap();
        },
        "F: is damaged (",
    );
    check(
        |path| {
            let store = Store::open(path.parent().unwrap()).unwrap();
            store.identity(NodeId(9)).unwrap();
        },
        "F: belongs to node 9: give --node-id 9, or another --data",
    );
}

#[test]
fn a_store_is_for_one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Store::open(dir.path()).unwrap();
    let error = Store::open(dir.path()).unwrap_err().to_string();
    assert!(error.ends_with("another node uses it"), "{error}");
}

#[test]
fn an_entry_of_another_program_is_refused_as_such() {
    let store = Store::in_memory();
    let foreign = [&2_u16.to_le_bytes()[..], b"whatever it means"].concat();
    store
        .write(|transaction| {
            transaction.open_table(SINGLE)?.insert(VOTE, &*foreign)?;
            Ok(())
        })
        .unwrap();
    let error = store.vote().unwrap_err().to_string();
    assert!(
        error.ends_with("was written by another version of the program: format 2; this program reads format 1"),
        "{error}"
    );
}
