//! A decision of a request by the rules that are live.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use clap::Args;
use serde_json::{Value, json};
use tallyring_client::{
    Call, Decision, Level, RateLimiter, RateLimiterConfig, RuleDecision, RuleSet, Source, Store, Subject,
};
use tallyring_protocol::RulesVersion;

use super::super::exit::{Exit, Failure, say};
use super::verdict::{Verdict, Wait};

/// The request, as far as a gateway would know it.
#[derive(Debug, Args)]
#[command(next_help_heading = "By the rules that are live")]
pub(super) struct RequestArgs {
    /// Who it is
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    client: Option<String>,
    /// Whom they belong to
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    tenant: Option<String>,
    /// What they have paid for
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    tier: Option<String>,
    /// Where it comes from
    #[arg(long, value_name = "IP", conflicts_with = "key")]
    ip: Option<IpAddr>,
    /// The method
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    method: String,
    /// The path
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,
    /// A header
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "key")]
    headers: Vec<(String, String)>,
    /// What the application knows besides
    #[arg(long = "attr", value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "key")]
    attributes: Vec<(String, String)>,
    /// How important it is
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    priority: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text} is not NAME=VALUE"))?;
    Ok((name.to_ascii_lowercase(), value.to_owned()))
}

/// Fetches the rules, decides as a gateway would, and says what was decided.
pub(super) async fn decide(store: Store, args: &RequestArgs, cost: u64, json: bool) -> Result<Exit, Failure> {
    let (version, document) = store.rules().await?;
    let baked_in = RuleSet::from_json(&document).map_err(Failure::invalid)?;
    let config = RateLimiterConfig { baked_in, follows_store: false, ..RateLimiterConfig::default() };
    let decision = args.check(&RateLimiter::new(store, config), cost).await;
    if decision.checks.iter().any(|check| matches!(check.source, Source::Fallback | Source::Mode)) {
        return Err(Failure::unreachable("the store went away before it had decided"));
    }
    say(if json { as_json(&decision, version) } else { as_text(&decision, version) });
    Ok(if decision.allowed { Exit::Good } else { Exit::Denied })
}

impl RequestArgs {
    async fn check(&self, limiter: &RateLimiter, cost: u64) -> Decision {
        let (headers, attributes): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (self.headers.iter().cloned().collect(), self.attributes.iter().cloned().collect());
        let subject = Subject {
            client: self.client.as_deref(),
            tenant: self.tenant.as_deref(),
            tier: self.tier.as_deref(),
            ip: self.ip,
            headers: &headers,
            attributes: &attributes,
            ..Subject::new(&self.method, &self.path)
        };
        limiter.check(&Call { cost, priority: self.priority.as_deref(), ..Call::new(subject) }).await
    }
}

fn verdict(check: &RuleDecision) -> Verdict {
    Verdict {
        allowed: check.allowed,
        limit: check.limit,
        remaining: check.remaining,
        retry_after: Wait(check.retry_after),
        reset_after: Wait(Some(check.reset_after)),
    }
}

/// A line for the whole, and one for each rule that applies.
fn as_text(decision: &Decision, version: RulesVersion) -> String {
    let rules = format!("version {} of the rules", version.version);
    let mut text = match decision.speaker() {
        None => format!("allowed: no rule applies, by {rules}\n"),
        Some(speaker) if decision.allowed => format!("allowed by {}, by {rules}\n", speaker.rule.id()),
        Some(speaker) => format!("denied by {}, by {rules}\n", speaker.rule.id()),
    };
    for check in &decision.checks {
        writeln!(text, "  {} {}", check.rule.id(), verdict(check)).expect("writing to a string cannot fail");
    }
    text
}

fn as_json(decision: &Decision, version: RulesVersion) -> String {
    let mut whole = decision.speaker().map_or_else(nobody, numbers);
    whole["allowed"] = decision.allowed.into();
    whole["level"] = level(decision.level).into();
    whole["source"] = decision.source().name().into();
    whole["version"] = version.version.into();
    whole["checks"] = decision.checks.iter().map(numbers).collect();
    format!("{whole}\n")
}

fn nobody() -> Value {
    json!({"rule": null})
}

fn numbers(check: &RuleDecision) -> Value {
    let verdict = verdict(check);
    json!({
        "rule": check.rule.id(),
        "group": check.rule.group(),
        "allowed": verdict.allowed,
        "limit": verdict.limit,
        "remaining": verdict.remaining,
        "retry_after_ms": verdict.retry_after.as_ms(),
        "reset_after_ms": verdict.reset_after.as_ms(),
    })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Ok => "ok",
        Level::Soft => "soft",
        Level::Denied => "denied",
    }
}
