//! Waits are promises: at the instant told the same call passes, a microsecond earlier it does not.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use tallyring::cli::trace::Trace;

const T_US_MAX: u64 = (1 << 53) - 1;

/// A trace up to an event, that event and its answer.
struct Moment<'a> {
    past: &'a [String],
    now_us: u64,
    event: &'a Value,
    answer: Value,
}

/// Checks every wait that the engine tells along a trace, by replaying the trace up to there and then letting time pass.
pub(crate) fn check(events: &[String]) -> Result<(), TestCaseError> {
    let mut engine = Trace::new();
    let mut now_us = 0;
    for (index, text) in events.iter().enumerate() {
        let event: Value = serde_json::from_str(text).expect("plans of promises hold valid events");
        now_us = event["t_us"].as_u64().expect("every event has an instant").max(now_us);
        let answer = engine.line(text).expect("an event has an answer");
        let answer = serde_json::from_str(&answer).expect("an answer is JSON");
        let moment = Moment { past: &events[..=index], now_us, event: &event, answer };
        moment.retry_is_kept()?;
        moment.reset_is_kept()?;
    }
    Ok(())
}

impl Moment<'_> {
    /// A rejected call passes at `retry_after_us` and not before.
    fn retry_is_kept(&self) -> Result<(), TestCaseError> {
        let is_refund = self.event["op"] == json!("refund"); // answers as a peek, but again would give back again
        if self.answer["allowed"] != json!(false) || is_refund || !self.names_its_own_numbers() {
            return Ok(());
        }
        let Some(wait_us) = self.wait("retry_after_us") else { return Ok(()) };
        prop_assert!(wait_us > 0, "{}: a refusal says wait 0", self.event);
        let (early, in_time) = (self.again_after(wait_us - 1, self.event), self.again_after(wait_us, self.event));
        prop_assert!(early["allowed"] == json!(false), "{} passes before {wait_us} us: {early}", self.told());
        prop_assert!(in_time["allowed"] == json!(true), "{} is refused after {wait_us} us: {in_time}", self.told());
        Ok(())
    }

    /// The whole budget is free at `reset_after_us` and not before.
    fn reset_is_kept(&self) -> Result<(), TestCaseError> {
        if !self.charges_alone() {
            return Ok(());
        }
        let Some(wait_us) = self.wait("reset_after_us") else { return Ok(()) };
        let mut peek = self.event.clone();
        for (name, value) in [("op", json!("check")), ("cost", json!(0)), ("keep", json!(0)), ("force", json!(false))] {
            peek[name] = value;
        }
        let in_time = self.again_after(wait_us, &peek);
        let is_whole = in_time["remaining"] == in_time["limit"] && in_time["reset_after_us"] == json!(0);
        prop_assert!(is_whole, "{} is not whole after {wait_us} us: {in_time}", self.told());
        if wait_us > 0 {
            let early = self.again_after(wait_us - 1, &peek);
            prop_assert!(early["reset_after_us"] == json!(1), "{} is whole before {wait_us} us: {early}", self.told());
        }
        Ok(())
    }

    /// Whether the state is one of the call's numbers afterwards. A peek does not convert, so the state goes on under
    /// others and may be free sooner or later than under the peek's; and a key named twice makes a wait a lower bound.
    fn names_its_own_numbers(&self) -> bool {
        match self.event["checks"].as_array() {
            Some(parts) => parts.len() == 1 && parts[0]["cost"] != json!(0),
            None => self.event["cost"] != json!(0),
        }
    }

    /// Whether the answer's `reset_after_us` is that of the state after this event, under the event's numbers.
    fn charges_alone(&self) -> bool {
        let op = self.event["op"].as_str().unwrap_or("check");
        ["check", "take", "refund"].contains(&op) && self.names_its_own_numbers()
    }

    /// A wait that was told and ends within the clock's range.
    fn wait(&self, name: &str) -> Option<u64> {
        self.answer[name].as_u64().filter(|wait_us| *wait_us <= T_US_MAX - self.now_us)
    }

    /// The answer to `event` if it comes `wait_us` after the trace.
    fn again_after(&self, wait_us: u64, event: &Value) -> Value {
        let mut engine = Trace::new();
        for line in self.past {
            engine.line(line);
        }
        let mut event = event.clone();
        event["t_us"] = json!(self.now_us + wait_us);
        let answer = engine.line(&event.to_string()).expect("an event has an answer");
        serde_json::from_str(&answer).expect("an answer is JSON")
    }

    fn told(&self) -> String {
        format!("after\n{}\nanswered {}: the same call", self.past.join("\n"), self.answer)
    }
}
