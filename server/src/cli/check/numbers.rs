//! A decision of a raw key by explicit numbers.

use clap::Args;
use serde_json::json;
use tallyring_client::{Ask, Definition, Key, Limit, Store, StoreDecision};
use tallyring_protocol::AlgorithmCode;
use tallyring_protocol::bounds::WAIT_NEVER_US;
use tallyring_protocol::rules::{Document, RuleDoc, RuleSet};

use super::super::exit::{Exit, Failure, say};
use super::verdict::{Verdict, Wait};
use crate::limits::limit_of;

/// The numbers of a limit, and whose budget it is.
#[derive(Debug, Args)]
#[command(next_help_heading = "By explicit numbers")]
pub(super) struct NumbersArgs {
    /// The raw key; without it the rules that are live decide
    #[arg(requires = "limit")]
    key: Option<String>,
    /// How units are counted
    #[arg(long, value_name = "NAME", default_value = "token_bucket")]
    algorithm: String,
    /// Units a window
    #[arg(long, value_name = "N", requires = "key")]
    limit: Option<u64>,
    /// The window, such as 60s or 1h
    #[arg(long, value_name = "WINDOW", requires = "key")]
    window: Option<String>,
    /// A window of the calendar: day, week, month
    #[arg(long, value_name = "NAME", conflicts_with = "window", requires = "key")]
    calendar: Option<String>,
    /// The size of a bucket
    #[arg(long, value_name = "N", requires = "key")]
    burst: Option<u64>,
    /// Units that must remain
    #[arg(long, value_name = "N", default_value_t = 0)]
    keep: u64,
    /// Always allow, and charge what there is
    #[arg(long, requires = "key")]
    force: bool,
}

/// A question that makes sense.
#[derive(Debug)]
pub(super) struct Explicit {
    key: Key,
    limit: Limit,
    ask: Ask,
}

impl NumbersArgs {
    /// The question, if it is one by explicit numbers.
    pub(super) fn read(&self, cost: u64) -> Result<Option<Explicit>, Failure> {
        let Some(raw) = &self.key else { return Ok(None) };
        let key = Key::raw(raw.as_bytes()).map_err(Failure::usage)?;
        let ask = Ask::try_new(cost, self.keep, self.force).map_err(Failure::usage)?;
        Ok(Some(Explicit { key, limit: self.limit()?, ask }))
    }

    /// The limit, read as a rule's numbers are: what is allowed there is allowed here.
    fn limit(&self) -> Result<Limit, Failure> {
        let rule = RuleDoc {
            id: "shell".to_owned(),
            algorithm: Some(self.algorithm.clone()),
            limit: self.limit,
            window: self.window.clone(),
            calendar: self.calendar.clone(),
            burst: self.burst,
            ..RuleDoc::default()
        };
        let set = RuleSet::compile(Document { rule: vec![rule], ..Document::default() });
        let set = set.map_err(|error| Failure::usage(error.to_string().trim_start_matches("rule[0].")))?;
        let numbers = set.rules()[0].numbers().expect("a rule without an action limits");
        if numbers.algorithm == AlgorithmCode::Concurrency {
            return Err(Failure::usage("algorithm: slots are held by whoever works, not by a shell"));
        }
        Ok(limit_of(numbers))
    }
}

/// Asks the store and says what it decided.
pub(super) async fn decide(store: &Store, explicit: &Explicit, json: bool) -> Result<Exit, Failure> {
    let Explicit { key, limit, ask } = explicit;
    let handle = store.define(Definition::from(*limit)).map_err(Failure::invalid)?;
    let decision = store.check(&handle, key, *ask).await?;
    let verdict = verdict(&decision, limit.ceiling());
    say(if json { as_event(&decision, limit.ceiling()) } else { format!("{verdict}\n") });
    Ok(verdict.exit())
}

fn verdict(decision: &StoreDecision, limit: u64) -> Verdict {
    let retry_after = (!decision.never()).then_some(decision.retry_after_us);
    Verdict {
        allowed: decision.allowed,
        limit,
        remaining: decision.remaining,
        retry_after: Wait::from_us(retry_after),
        reset_after: Wait::from_us(Some(decision.reset_after_us)),
    }
}

/// The decision as the trace command prints one.
fn as_event(decision: &StoreDecision, limit: u64) -> String {
    let retry_after_us = (decision.retry_after_us != WAIT_NEVER_US).then_some(decision.retry_after_us);
    let mut event = json!({
        "allowed": decision.allowed,
        "limit": limit,
        "remaining": decision.remaining,
        "retry_after_us": retry_after_us,
        "reset_after_us": decision.reset_after_us,
    });
    for (name, number) in [("charged", decision.charged), ("delay_us", decision.delay_us)] {
        if let Some(number) = number {
            event[name] = number.into();
        }
    }
    format!("{event}\n")
}
