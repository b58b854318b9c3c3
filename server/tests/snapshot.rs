//! Snapshots on a real disk: the old one or the new one, whatever happens in between.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tallyring::snapshot::{self, Fingerprint, WriteError, Writer};
use tallyring_engine::*;
use tallyring_protocol::{IdentityKey, PlacementSeed};

/// Where a child process writes snapshots without end.
const CHILD_PATH: &str = "TALLYRING_TEST_SNAPSHOT_PATH";
/// Child processes that are killed until one has written something.
const KILLS_MAX: u64 = 100;

fn keys() -> Fingerprint {
    Fingerprint::new(PlacementSeed([1; 16]), &IdentityKey([2; 16]))
}

/// Batches of `len` records each in which every count is `mark`.
fn batches(mark: u64, len: u64) -> Vec<Batch> {
    let limit = Limit::new(Algorithm::FixedWindow, 1_000_000, Period::Micros(60_000_000), None).unwrap();
    let record = |no| {
        let state = State::FixedWindow { end_us: 60_000_000, count: mark };
        let identity = Identity { placement: no, identity: no };
        Record::Counter { identity, counter: Some(CounterState { limit: 0, state }) }
    };
    let batch = |sequence| Batch {
        version: Version { epoch: 1, sequence },
        read_at: Timestamp::from_micros(7),
        limits: vec![RuleLimit { rule: "rule".into(), limit }],
        records: (0..len).map(record).collect(),
    };
    (1..4).map(batch).collect()
}

/// The one mark that every record of the snapshot has.
fn mark(path: &Path, records: u64) -> u64 {
    let snapshot = snapshot::read(path, keys()).unwrap();
    assert_eq!(snapshot.records(), records);
    let records: Vec<Record> = snapshot.flat_map(|batch| batch.unwrap().records).collect();
    let count = |record: &Record| match record {
        Record::Counter { counter: Some(CounterState { state: State::FixedWindow { count, .. }, .. }), .. } => *count,
        other => panic!("nobody wrote {other:?}"),
    };
    let first = count(&records[0]);
    assert!(records.iter().all(|record| count(record) == first), "two snapshots in one");
    first
}

fn names(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_newer_snapshot_takes_the_place_of_the_older() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters");
    for round in 1..4 {
        let written = snapshot::write(&path, keys(), batches(round, 10)).unwrap();
        assert_eq!((written.records, written.bytes), (30, std::fs::metadata(&path).unwrap().len()));
        assert_eq!(mark(&path, 30), round);
    }
    assert_eq!(names(folder.path()), [path]);
}

#[test]
fn an_open_snapshot_stays_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters");
    snapshot::write(&path, keys(), batches(1, 10)).unwrap();
    let open = snapshot::read(&path, keys()).unwrap();
    snapshot::write(&path, keys(), batches(2, 10)).unwrap();
    assert_eq!(open.map(Result::unwrap).collect::<Vec<_>>(), batches(1, 10));
}

#[test]
fn a_snapshot_that_is_given_up_leaves_the_old_one_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters");
    snapshot::write(&path, keys(), batches(1, 10)).unwrap();
    let mut given_up = Writer::create(&path, keys()).unwrap();
    given_up.add(&batches(2, 10)[0]).unwrap();
    drop(given_up);
    assert_eq!(mark(&path, 30), 1);
    assert_eq!(names(folder.path()), [path]);
}

#[test]
fn a_full_disk_leaves_the_old_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters");
    snapshot::write(&path, keys(), batches(1, 10)).unwrap();
    for len in [1, 20_000] {
        symlink("/dev/full", folder.path().join("counters.unfinished")).unwrap();
        let error = snapshot::write(&path, keys(), batches(2, len)).unwrap_err();
        let WriteError::Io { doing: "writing", source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
        assert_eq!(mark(&path, 30), 1);
    }
    assert_eq!(names(folder.path()), [path]);
}

#[test]
fn a_file_that_is_none_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters");
    let refused = || snapshot::read(&path, keys()).unwrap_err().to_string();
    assert!(refused().starts_with(&format!("{}: byte 0: reading failed: No such file", path.display())));
    std::fs::write(&path, "{}").unwrap();
    let expect = "byte 0: cut short in its header: 30 bytes are missing at least";
    assert_eq!(refused(), format!("{}: {expect}", path.display()));
}

/// Run by the next test, in a process of its own that is killed; by itself it does nothing.
#[test]
fn a_writer_without_end() {
    let Some(path) = std::env::var_os(CHILD_PATH).map(PathBuf::from) else { return };
    for round in 2.. {
        snapshot::write(&path, keys(), batches(round, 2_000)).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_the_old_snapshot_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counters");
    snapshot::write(&path, keys(), batches(1, 2_000)).unwrap();
    let (mut latest, mut kills) = (1, 0);
    // On a slow disk it takes longer until a child had the time to write anything.
    while kills < 15 || (latest == 1 && kills < KILLS_MAX) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_writer_without_end"])
            .env(CHILD_PATH, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + 7 * kills));
        child.kill().unwrap();
        child.wait().unwrap();
        latest = latest.max(mark(&path, 6_000));
        kills += 1;
    }
    assert!(latest > 1, "no child wrote anything before it was killed");
}
