//! A node that is killed at any instant finds on its disk what it had promised: a child process writes votes and entries
//! and says so, until it is killed in the middle.
#![cfg(not(feature = "sim"))]
#![allow(clippy::unwrap_used, reason = "a broken fixture must panic")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use openraft::{CommittedLeaderId, EntryPayload};
use tallyring::cluster::control::raft::store::Store;
use tallyring::cluster::control::raft::{Entry, LogId, Vote};

/// Names the folder in which this process is to write until it is killed.
const FOLDER: &str = "TALLYRING_TEST_WRITES_UNTIL_KILLED";

/// Promises after which the child is killed.
const PROMISES: [usize; 4] = [1, 7, 40, 100];

fn entry(index: u64) -> Entry {
    Entry { log_id: LogId::new(CommittedLeaderId::new(1, 1), index), payload: EntryPayload::Blank }
}

/// Writes, and promises what is written, for as long as it lives.
fn write_until_killed(folder: &Path) {
    let store = Store::open(folder).unwrap();
    let first = store.ends().unwrap().1.map_or(0, |last| last.index + 1);
    for index in first.. {
        store.append(&[entry(index)]).unwrap();
        store.save_vote(&Vote::new(index, 1)).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "promised {index}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn a_killed_node_remembers_what_it_promised() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_until_killed(Path::new(&folder));
    }
    let dir = tempfile::tempdir().unwrap();
    for promises in PROMISES {
        let promised = run_and_kill(dir.path(), promises);
        let store = Store::open(dir.path()).unwrap();
        let (_, last) = store.ends().unwrap();
        let last = last.unwrap().index;
        assert!(last >= promised, "the log ends with {last}, {promised} was promised");
        let found: Vec<u64> = store.entries(.., usize::MAX).unwrap().iter().map(|entry| entry.log_id.index).collect();
        assert!(found.into_iter().eq(0..=last), "the log has a hole");
        assert!(store.vote().unwrap().unwrap() >= Vote::new(promised, 1));
    }
}

/// The last promise of a child that is killed right after it.
fn run_and_kill(folder: &Path, promises: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_node_remembers_what_it_promised", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let promised = |line: String| line.rsplit_once("promised ")?.1.parse().ok();
    let last = lines.map_while(Result::ok).filter_map(promised).nth(promises - 1);
    child.kill().unwrap();
    child.wait().unwrap();
    last.unwrap()
}
