//! The engine and the model decide alike: random traces, compared line by line.
//!
//! The path of a trace: [`draw`] → [`plan`] → [`script`], which plays it on the model → the engine. `PROPTEST_CASES`
//! scales the number of traces. One on which the two part is printed shrunk, as lines for `tallyring trace`.

mod calendars;
mod draw;
mod full;
mod plan;
mod promise;
mod script;

use draw::ALGORITHMS;
use plan::Plan;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use script::Line;
use tallyring::cli::trace::Trace;
use tallyring_tests::model::same;

/// Tests that share the configured number of cases between them, so that the default takes seconds.
const TESTS: u32 = 12;

/// How many plans a long one counts for.
const LONG: u32 = 16;

/// Shrinking stops after this long: what is left of a plan is short enough by then.
const SHRINKING_MS_MAX: u32 = 20_000;

/// Draws plans, each `weight` times as long as a plain one, and judges them; panics with the smallest that fails.
fn check(weight: u32, plans: impl Strategy<Value = Plan>, judge: impl Fn(&Plan) -> Result<(), TestCaseError>) {
    let cases = ProptestConfig::default().cases.div_ceil(TESTS * weight);
    let bounds = ProptestConfig { cases, max_shrink_time: SHRINKING_MS_MAX, ..ProptestConfig::default() };
    let config = ProptestConfig { failure_persistence: None, ..bounds };
    match TestRunner::new(config).run(&plans, |plan| judge(&plan)) {
        Ok(()) => {}
        Err(TestError::Fail(why, _plan)) => panic!("{why}"),
        Err(gave_up) => panic!("{gave_up}"),
    }
}

fn decides_as_the_model(plan: &Plan) -> Result<(), TestCaseError> {
    parts_at(&script::lines(plan)).map_or(Ok(()), |parting| Err(TestCaseError::fail(parting)))
}

fn keeps_its_promises(plan: &Plan) -> Result<(), TestCaseError> {
    let events: Vec<String> = script::lines(plan).into_iter().map(|line| line.event).collect();
    promise::check(&events)
}

/// The trace up to the first line that the engine answers differently, and both answers.
fn parts_at(lines: &[Line]) -> Option<String> {
    let mut engine = Trace::new();
    for (index, line) in lines.iter().enumerate() {
        let (found, expected) = (engine.line(&line.event).unwrap_or_default(), line.answer.clone().unwrap_or_default());
        if !same(&found, &expected) {
            let trace: Vec<&str> = lines[..=index].iter().map(|line| line.event.as_str()).collect();
            return Some(format!("\n{}\n  engine {found}\n   model {expected}", trace.join("\n")));
        }
    }
    None
}

#[test]
fn each_algorithm_alone_is_decided_as_the_model_decides() {
    for algorithm in ALGORITHMS {
        check(1, draw::plan(std::slice::from_ref(algorithm)), decides_as_the_model);
    }
}

#[test]
fn all_algorithms_together_are_decided_as_the_model_decides() {
    check(1, draw::plan(ALGORITHMS), decides_as_the_model);
}

#[test]
fn a_log_of_many_entries_is_decided_as_the_model_decides() {
    check(LONG, draw::long_plan(&["sliding_log"], 1), decides_as_the_model);
}

#[test]
fn many_keys_are_decided_as_the_model_decides() {
    check(LONG, draw::long_plan(ALGORITHMS, 250), decides_as_the_model);
}

#[test]
fn slots_are_decided_as_the_model_decides() {
    check(1, draw::slots_plan(), decides_as_the_model);
}

#[test]
fn many_holders_are_decided_as_the_model_decides() {
    check(LONG, draw::long_slots_plan(), decides_as_the_model);
}

#[test]
fn a_call_passes_when_its_wait_is_over_and_not_before() {
    check(1, draw::short_plan(ALGORITHMS), keeps_its_promises);
}

#[test]
fn a_slot_is_free_when_the_wait_is_over_and_not_before() {
    check(1, draw::short_slots_plan(), keeps_its_promises);
}
