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
pub(in super::super) struct RequestArgs {
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
    /// The method [default: GET]
    #[arg(long, value_name = "METHOD", conflicts_with = "key")]
    method: Option<String>,
    /// The path [default: /]
    #[arg(long, value_name = "PATH", conflicts_with = "key")]
    path: Option<String>,
    /// A header
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "key")]
    headers: Vec<(String, String)>,
    /// What the application knows besides
    #[arg(long = "attr", value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "key")]
    attributes: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text} is not NAME=VALUE"))?;
    Ok((name.to_ascii_lowercase(), value.to_owned()))
}

/// Fetches the rules, decides as a gateway would, and says what was decided.
pub(super) async fn decide(store: Store, args: &RequestArgs, charge: Charge<'_>, json: bool) -> Result<Exit, Failure> {
    let (version, baked_in) = live_rules(&store).await?;
    let config = RateLimiterConfig { baked_in, follows_store: false, ..RateLimiterConfig::default() };
    let decision = args.check(&RateLimiter::new(store, config), charge).await;
    if decision.checks.iter().any(|check| matches!(check.source, Source::Fallback | Source::Mode)) {
        return Err(Failure::unreachable("the store went away before it had decided"));
    }
    say(if json { as_json(&decision, version) } else { as_text(&decision, version) });
    Ok(if decision.allowed { Exit::Good } else { Exit::Denied })
}

/// What a request costs, and how important it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge<'a> {
    pub(super) cost: u64,
    pub(super) priority: Option<&'a str>,
}

/// The rules that are live, and which they are.
pub(in super::super) async fn live_rules(store: &Store) -> Result<(RulesVersion, RuleSet), Failure> {
    let (version, document) = store.rules().await?;
    Ok((version, RuleSet::from_json(&document).map_err(Failure::invalid)?))
}

impl RequestArgs {
    /// Whether nothing in it says who is meant.
    pub(in super::super) fn names_nobody(&self) -> bool {
        self.client.is_none()
            && self.tenant.is_none()
            && self.ip.is_none()
            && self.headers.is_empty()
            && self.attributes.is_empty()
    }

    /// What is known of the request, with the maps that it refers to.
    pub(in super::super) fn known(&self) -> Known<'_> {
        let map = |pairs: &[(String, String)]| pairs.iter().cloned().collect();
        Known { args: self, headers: map(&self.headers), attributes: map(&self.attributes) }
    }

    async fn check(&self, limiter: &RateLimiter, charge: Charge<'_>) -> Decision {
        let known = self.known();
        let (method, path) = (self.method.as_deref().unwrap_or("GET"), self.path.as_deref().unwrap_or("/"));
        let subject = Subject { method, path, ..known.subject() };
        let Charge { cost, priority } = charge;
        limiter.check(&Call { cost, priority, ..Call::new(subject) }).await
    }
}

/// What is known of a request.
pub(in super::super) struct Known<'a> {
    args: &'a RequestArgs,
    headers: BTreeMap<String, String>,
    attributes: BTreeMap<String, String>,
}

impl Known<'_> {
    /// What the rules are asked about; a method or a path that nobody said is empty.
    pub(in super::super) fn subject(&self) -> Subject<'_> {
        let args = self.args;
        Subject {
            client: args.client.as_deref(),
            tenant: args.tenant.as_deref(),
            tier: args.tier.as_deref(),
            ip: args.ip,
            headers: &self.headers,
            attributes: &self.attributes,
            ..Subject::new(args.method.as_deref().unwrap_or(""), args.path.as_deref().unwrap_or(""))
        }
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
