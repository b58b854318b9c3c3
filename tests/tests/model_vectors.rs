//! The model answers every recorded trace, value for value.

use std::fs;
use std::path::{Path, PathBuf};

use tallyring_tests::model::{Model, same};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/vectors")
}

fn read(name: &str) -> String {
    let path = vectors().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Plays `NAME.in.jsonl` and compares with `NAME.out.jsonl`, line by line.
fn check(name: &str) {
    let (events, expected) = (read(&format!("{name}.in.jsonl")), read(&format!("{name}.out.jsonl")));
    let mut model = Model::new();
    let mut expected = expected.lines();
    for (index, event) in events.lines().enumerate() {
        if let Some(found) = model.line(event) {
            let expected = expected.next().expect("an answer each");
            let line = index + 1;
            assert!(same(&found, expected), "{name}, line {line}: {event}\n   found {found}\nexpected {expected}");
        }
    }
    assert_eq!(expected.next(), None, "{name}: answers without an event");
}

/// One test a trace, so that they run side by side and a failure names its algorithm.
macro_rules! traces {
    ($($name:ident)*) => {
        const TRACES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { check(stringify!($name)); })*
    };
}

traces! {
    token_bucket gcra leaky_bucket fixed_window sliding_log sliding_counter concurrency reserve_settle check_all
    more_conc more_dense0 more_dense1 more_directed more_directed2 more_slow0 more_slow1 more_wide
}

#[test]
fn every_recorded_trace_has_a_test() {
    let files = fs::read_dir(vectors()).expect("the vectors are part of the crate").count();
    assert_eq!(files, TRACES.len() * 2, "each trace is one file in and one out");
}
