//! Every published trace gives the published decisions, value for value.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tallyring::cli::trace::Trace;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/testdata/vectors")
}

fn read(name: &str, kind: &str) -> String {
    let path = folder().join(format!("{name}.{kind}.jsonl"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn check(name: &str) {
    let mut trace = Trace::new();
    let (events, decisions) = (read(name, "in"), read(name, "out"));
    let found = events.lines().filter_map(|event| trace.line(event).map(|decision| (event, decision)));
    let mut expect = decisions.lines();
    for (number, (event, found)) in found.enumerate() {
        let expect = expect.next().unwrap_or_else(|| panic!("{name}: more decisions than expected"));
        let same = value(&found) == value(expect);
        assert!(same, "{name}, decision {}:\n event  {event}\n expect {expect}\n found  {found}", number + 1);
    }
    assert_eq!(expect.next(), None, "{name}: fewer decisions than expected");
}

/// The line as a value; numbers over 64 bits are compared by their digits.
fn value(line: &str) -> Value {
    let quoted: Vec<String> = line.split_inclusive(|c: char| !c.is_ascii_digit()).map(quote_long).collect();
    serde_json::from_str(&quoted.concat()).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn quote_long(piece: &str) -> String {
    let digits = piece.trim_end_matches(|c: char| !c.is_ascii_digit());
    if digits.len() < 19 { piece.to_owned() } else { format!("\"{digits}\"{}", &piece[digits.len()..]) }
}

macro_rules! vectors {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn no_trace_is_left_out() {
            let mut found: Vec<String> = std::fs::read_dir(folder())
                .unwrap()
                .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".in.jsonl")?.to_owned()))
                .collect();
            found.sort();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

vectors! {
    check_all concurrency fixed_window gcra leaky_bucket more_conc more_dense0 more_dense1 more_directed more_directed2
    more_slow0 more_slow1 more_wide reserve_settle sliding_counter sliding_log token_bucket
}
