//! Every calendar window of the clock's range begins and ends where the model says.

use serde_json::Value;
use tallyring::cli::trace::Trace;
use tallyring_tests::model::{Model, same};

const T_US_MAX: u64 = (1 << 53) - 1;

/// More than any range holds: the clock ends in the year 2255.
const MONTHS_MAX: usize = 12 * 300;

/// Walks from `start_us` over at most `windows_max` windows, and charges one unit in the first and the last microsecond
/// of each, so that a window cut too short or too long shows in what remains and in the wait.
fn check(calendar: &str, start_us: u64, windows_max: usize) {
    let (mut trace, mut model, mut t_us) = (Trace::new(), Model::new(), start_us);
    let mut charge = |t_us: u64| {
        let limit = format!(r#""algorithm":"fixed_window","limit":9,"calendar":"{calendar}""#);
        let event = format!(r#"{{"t_us":{t_us},"key":"k",{limit}}}"#);
        let (found, expected) = (trace.line(&event).expect("an answer"), model.line(&event).expect("an answer"));
        assert!(same(&found, &expected), "{event}\n  engine {found}\n   model {expected}");
        serde_json::from_str::<Value>(&expected).expect("answers are JSON")["reset_after_us"].as_u64().expect("a wait")
    };
    for _ in 0..windows_max {
        let end_us = t_us + charge(t_us);
        if end_us > T_US_MAX {
            return;
        }
        charge(end_us - 1);
        t_us = end_us;
    }
}

#[test]
fn every_month_of_the_clock_is_cut_as_the_model_cuts_it() {
    check("month", 0, MONTHS_MAX);
}

#[test]
fn weeks_and_days_are_cut_as_the_model_cuts_them() {
    for calendar in ["week", "day"] {
        check(calendar, 0, 500);
        check(calendar, T_US_MAX - 400 * 86_400_000_000, 500);
    }
}
