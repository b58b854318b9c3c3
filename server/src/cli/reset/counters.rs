//! The counters that the rules that are live have of somebody.

use std::fmt::Write as _;

use tallyring_client::{Ask, Definition, Key, Store};
use tallyring_protocol::AlgorithmCode;
use tallyring_protocol::rules::{Counter, DescribedKey, KeyPart, Numbers, Rule, RuleSet, Subject};

use super::super::check::{RequestArgs, live_rules};
use super::super::exit::{Exit, Failure, say};
use crate::limits::limit_of;
use crate::rules::visible::visible;

/// A counter that may be there.
struct Counted<'r> {
    rule: &'r Rule,
    numbers: &'r Numbers,
    key: Key,
}

/// Resets every counter that `request` may have under these rules, or under all, and says what each had.
pub(super) async fn reset(store: &Store, request: &RequestArgs, only: &[String]) -> Result<Exit, Failure> {
    let (version, rules) = live_rules(store).await?;
    let counters = find(&rules, &request.known().subject(), only)?;
    let mut text = String::new();
    for counter in &counters {
        let had = counter.had(store).await?;
        if store.reset(&counter.key).await? {
            writeln!(text, "{} {}: {had}, now all again", counter.rule.id(), counter.whose())
                .expect("writing to a string cannot fail");
        }
    }
    if !text.is_empty() {
        return Ok(say(visible(&text)));
    }
    say(format!("nothing was counted {}, by version {} of the rules\n", places(&counters), version.version));
    Ok(Exit::Nothing)
}

/// Rules that are named of those that were looked at in vain.
const NAMED_MAX: usize = 5;

/// Where nothing was found, in words.
fn places(counters: &[Counted<'_>]) -> String {
    let names: Vec<&str> = counters.iter().take(NAMED_MAX).map(|counter| counter.rule.id()).collect();
    match counters.len().saturating_sub(NAMED_MAX) {
        _ if names.is_empty() => "of this: no rule has a counter for it".to_owned(),
        0 => format!("under {}", names.join(", ")),
        others => format!("under {} and {others} more", names.join(", ")),
    }
}

/// # Errors
/// A rule that is asked for is not live, or its key needs what nobody said.
fn find<'r>(rules: &'r RuleSet, subject: &Subject<'_>, only: &[String]) -> Result<Vec<Counted<'r>>, Failure> {
    if let Some(unknown) = only.iter().find(|id| !rules.rules().iter().any(|rule| rule.id() == **id)) {
        return Err(Failure::usage(format!("rule: {unknown:?} is the id of no rule that is live")));
    }
    let mut found = Vec::new();
    for rule in rules.rules() {
        let is_named = only.iter().any(|id| *id == rule.id());
        // What many share is not one customer's to have back, unless somebody asks for just that.
        if !is_named && (!only.is_empty() || rule.counts_together()) {
            continue;
        }
        match (rules.counter(rule, subject), rule.numbers()) {
            (Counter::Known(key), Some(numbers)) => found.push(Counted { rule, numbers, key }),
            (Counter::Partial(part) | Counter::Unknown(part), _) if is_named => {
                return Err(Failure::usage(lacks(rule, part)));
            }
            (Counter::Partial(part), _) => eprintln!("tallyring: not reset: {}", lacks(rule, part)),
            _ => {}
        }
    }
    Ok(found)
}

fn lacks(rule: &Rule, part: &KeyPart) -> String {
    let (part, flag) = match part {
        KeyPart::Client => ("client".to_owned(), "--client NAME".to_owned()),
        KeyPart::Tenant => ("tenant".to_owned(), "--tenant NAME".to_owned()),
        KeyPart::Tier => ("tier".to_owned(), "--tier NAME".to_owned()),
        KeyPart::Ip => ("ip".to_owned(), "--ip IP".to_owned()),
        KeyPart::Path | KeyPart::Route(_) => ("path".to_owned(), "--path PATH".to_owned()),
        KeyPart::Method => ("method".to_owned(), "--method METHOD".to_owned()),
        KeyPart::Header(name) => (format!("header:{name}"), format!("--header {name}=VALUE")),
        KeyPart::Attribute(name) => (format!("attr:{name}"), format!("--attr {name}=VALUE")),
    };
    format!("rule {:?} counts each {part} apart: say {flag}", rule.id())
}

impl Counted<'_> {
    /// What it has, without taking any of it.
    async fn had(&self, store: &Store) -> Result<String, Failure> {
        if self.numbers.algorithm == AlgorithmCode::Concurrency {
            return Ok("slots were held".to_owned());
        }
        let limit = limit_of(self.numbers);
        let handle = store.define(Definition::from(limit)).map_err(Failure::invalid)?;
        let decision = store.check(&handle, &self.key, Ask::new(0)).await?;
        Ok(format!("{} of {} left", decision.remaining, limit.ceiling()))
    }

    /// Whose it is, as people read it.
    fn whose(&self) -> String {
        DescribedKey::read(self.key.as_ref().rest()).map_or("(a long key)".to_owned(), |key| key.to_string())
    }
}
