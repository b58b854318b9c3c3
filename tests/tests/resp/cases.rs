//! Faults that users of comparable software reported of Redis commands, each with its right answer: the cases `resp-*`, and
//! `proto-key-01` in the words of RESP.

use std::sync::atomic::Ordering;

use serde_json::Value;
use tallyring_tests::resp::{Answer, Connection, command};

use crate::system::{config, with_clock, with_node};

fn case(id: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cases.jsonl");
    let text = std::fs::read_to_string(path).expect("the cases are part of the crate");
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case a line"));
    cases.into_iter().find(|case| case["id"] == id).expect("the case is among them")
}

/// Whether an answer is what a case wants: an array of integers, an error, a word, or an error where a number might be.
fn agrees(answer: &Answer, expect: &Value) -> bool {
    match expect {
        Value::Array(numbers) => serde_json::json!(answer.integers()) == Value::Array(numbers.clone()),
        Value::String(text) if text == "-ERR" => answer.error().starts_with("ERR "),
        Value::String(text) if text.starts_with("error or ") => answer.error().starts_with("ERR "),
        Value::String(text) => *answer == Answer::Simple(text.trim_start_matches('+').to_owned()),
        other => panic!("a case does not say {other}"),
    }
}

/// Asks the commands of a case at their instants, and compares the answers; of how many.
fn play(id: &str, connection: &mut Connection, set_time: impl Fn(u64)) -> usize {
    let case = case(id);
    let commands = case["input"]["commands"].as_array().or(case["input"]["batch"].as_array()).unwrap();
    let replies = case["expected"]["replies"].as_array().unwrap();
    assert_eq!(commands.len(), replies.len());
    for (asked, expect) in commands.iter().zip(replies) {
        let words = asked.as_str().or(asked["cmd"].as_str()).unwrap();
        set_time(asked["t_us"].as_u64().unwrap_or(1));
        let answer = connection.ask(words);
        assert!(agrees(&answer, expect), "{id}: {words}: {answer:?} is not {expect}");
    }
    replies.len()
}

macro_rules! cases {
    ($($name:ident $id:literal)*) => {$(
        #[tokio::test]
        async fn $name() {
            with_clock(config(2), |address, now_us| {
                let mut connection = Connection::open(address);
                assert!(play($id, &mut connection, |t_us| now_us.store(t_us, Ordering::Release)) > 1);
            })
            .await;
        }
    )*};
}

cases! {
    fast_settings_still_limit "resp-small-01"
    a_burst_of_none_lets_one_through_at_a_time "resp-pace-01"
    more_than_the_bucket_holds_never_passes "resp-never-01"
    bad_arguments_are_errors_not_zeros "resp-args-01"
    an_error_costs_one_answer "resp-pipe-01"
}

#[tokio::test]
async fn a_pipeline_in_one_write_is_answered_in_order() {
    with_node(config(2), |address| {
        let case = case("resp-pipe-01");
        let batch = case["input"]["batch"].as_array().unwrap();
        let words = |asked: &Value| command(&asked.as_str().unwrap().split(' ').collect::<Vec<_>>());
        let mut connection = Connection::open(address);
        connection.send(&batch.iter().flat_map(words).collect::<Vec<u8>>());
        for expect in case["expected"]["replies"].as_array().unwrap() {
            let answer = connection.answer();
            assert!(agrees(&answer, expect), "{answer:?} is not {expect}");
        }
    })
    .await;
}

/// proto-key-01: a key has a longest length, and is refused above it.
#[tokio::test]
async fn a_key_that_is_too_long_is_refused_by_its_length() {
    with_node(config(1), |address| {
        let mut connection = Connection::open(address);
        let mut check = |len: usize| connection.ask(&format!("CL.THROTTLE {} 5 5 5", "k".repeat(len)));
        assert_eq!(check(511).integers()[0], 0);
        assert_eq!(check(512).integers()[0], 0);
        assert_eq!(check(513).error(), "ERR CL.THROTTLE: key: 513 bytes is not in 1 ..= 512");
        assert_eq!(check(60_000).error(), "ERR CL.THROTTLE: key: 60000 bytes is not in 1 ..= 512");
    })
    .await;
}

#[tokio::test]
async fn the_two_dialects_of_throttling_say_the_same_in_their_own_order() {
    with_clock(config(1), |address, now_us| {
        now_us.store(1_000_000, Ordering::Release);
        let mut connection = Connection::open(address);
        let mut ask = |words: &str| connection.ask(words).integers();
        assert_eq!(ask("CL.THROTTLE user123 15 30 60"), [0, 16, 15, -1, 2]);
        assert_eq!(ask("CL.THROTTLE user123 15 30 60 0"), [0, 16, 15, -1, 2]); // a peek
        assert_eq!(ask("CL.THROTTLE user123 15 30 60 16"), [1, 16, 15, 2, 2]);
        assert_eq!(ask("THROTTLE user456 10 100 60"), [1, 10, 9, 1, 0]);
        assert_eq!(ask("THROTTLE user456 10 100 60 10"), [0, 10, 9, 1, 1]);
        assert_eq!(ask("THROTTLE user456 10 100 60 11"), [0, 10, 9, 1, -1]);
    })
    .await;
}

#[tokio::test]
async fn an_error_names_the_command_and_the_argument() {
    with_node(config(1), |address| {
        let mut connection = Connection::open(address);
        let mut check = |words: &str, expect: &str| assert_eq!(connection.ask(words).error(), expect, "{words}");
        check("CL.THROTTLE k -1 30 60", "ERR CL.THROTTLE: max_burst: '-1' is not a whole number in 0 ..= 999999999999");
        check("TR.CHECK k gcra 0 60", "ERR TR.CHECK: limit: '0' is not a whole number in 1 ..= 10^12");
        check("TR.CHECK k fixed 1 60", "ERR TR.CHECK: algorithm: 'fixed' is not one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter");
        check("TR.CHECK k fixed_window 1 60 BURST 2", "ERR TR.CHECK: burst: fixed_window has none");
        check("TR.CHECK k gcra 1 CAL.DAY", "ERR TR.CHECK: calendar: token_bucket has none");
        check("TR.CHECK k gcra 1 60 COST", "ERR TR.CHECK: COST: its value is missing");
        check("TR.CHECK k gcra 1 60 cost 1 COST 1", "ERR TR.CHECK: COST: it is given twice");
        check("TR.CHECK k gcra 1 60 AT 1", "ERR TR.CHECK: option: 'AT' is not one of BURST, COST, KEEP, FORCE");
        check("TR.TAKE k gcra 1 60", "ERR TR.TAKE: COST: it is missing");
        check("TR.SETTLE k r 1 2", "ERR wrong number of arguments for 'tr.settle' command: TR.SETTLE key id actual");
        check("TR.RELEASE k ", "ERR TR.RELEASE: holder: 0 bytes is not in 1 ..= 128");
        check("GET a b", "ERR unknown command 'GET', with args beginning with: 'a' 'b' ");
        check("CLUSTER SLOTS", "ERR This instance has cluster support disabled");
    })
    .await;
}

#[tokio::test]
async fn a_key_is_placed_by_its_braces_and_counted_by_its_whole() {
    with_node(config(2), |address| {
        let mut connection = Connection::open(address);
        let mut remaining =
            |key: &str| connection.ask(&format!("TR.CHECK {key} fixed_window 9 CAL.MONTH")).integers()[2];
        assert_eq!((remaining("{a}b"), remaining("{a}c"), remaining("{a}b")), (8, 8, 7));
    })
    .await;
}
