//! The engine and the model decide alike: random traces, compared line by line.
//!
//! `PROPTEST_CASES` scales the number of traces. A trace on which the two part is printed as it was fed in, shrunk; kept
//! in `testdata/counterexamples/`, it is replayed for ever.

mod plan;
mod promise;
mod script;

use std::fs;
use std::path::Path;

use plan::{ALGORITHMS, Plan};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use script::Line;
use tallyring::cli::trace::Trace;
use tallyring_tests::model::{Model, same};

/// Tests that share the configured number of cases between them, so that the default takes seconds.
const TESTS: u32 = 8;

/// Draws plans and judges each; panics with the smallest that fails.
fn check(plans: impl Strategy<Value = Plan>, judge: impl Fn(&Plan) -> Result<(), TestCaseError>) {
    let cases = ProptestConfig::default().cases.div_ceil(TESTS);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
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

/// Plays a trace that is kept as a file.
fn replay(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut model = Model::new();
    let lines = text.lines().map(|event| Line { event: event.to_owned(), answer: model.line(event) });
    parts_at(&lines.collect::<Vec<Line>>())
}

#[test]
fn each_algorithm_alone_is_decided_as_the_model_decides() {
    for algorithm in ALGORITHMS {
        check(plan::plan(std::slice::from_ref(algorithm)), decides_as_the_model);
    }
}

#[test]
fn all_algorithms_together_are_decided_as_the_model_decides() {
    check(plan::plan(ALGORITHMS), decides_as_the_model);
}

#[test]
fn slots_are_decided_as_the_model_decides() {
    check(plan::slots_plan(), decides_as_the_model);
}

#[test]
fn a_call_passes_when_its_wait_is_over_and_not_before() {
    check(plan::short_plan(ALGORITHMS), keeps_its_promises);
}

#[test]
fn a_slot_is_free_when_the_wait_is_over_and_not_before() {
    check(plan::short_slots_plan(), keeps_its_promises);
}
