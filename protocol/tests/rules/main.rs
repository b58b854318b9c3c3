//! Rules: what documents are refused, and what the others mean.

mod generate;
mod golden;
mod keys;
mod load;
mod oracle;
mod paths;
mod resolve;
mod together;
mod warnings;

use std::net::IpAddr;

use tallyring_protocol::rules::{Fault, RuleSet, Subject, parse};

/// The rules of a text that is right.
fn rules(text: &str) -> RuleSet {
    parse(text).unwrap_or_else(|faults| panic!("{faults:#?}")).rules
}

/// Everything that is wrong with a text.
fn faults(text: &str) -> Vec<String> {
    parse(text).expect_err("it is wrong").iter().map(Fault::to_string).collect()
}

/// A request of nobody, from an address.
fn from<'a>(ip: &str, method: &'a str, path: &'a str) -> Subject<'a> {
    Subject { ip: Some(ip.parse::<IpAddr>().expect("an address")), ..Subject::new(method, path) }
}

/// The ids of the enforced winners of a request, then, behind a bar, those of the shadow ones.
fn winners(rules: &RuleSet, subject: &Subject<'_>) -> String {
    let resolution = rules.resolve(subject);
    let ids = |winners: &[tallyring_protocol::rules::Winner<'_>]| {
        winners.iter().map(|winner| winner.rule.id().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let (enforced, shadow) = (ids(&resolution.enforced), ids(&resolution.shadow));
    if shadow.is_empty() { enforced } else { format!("{enforced}|{shadow}") }
}
