//! What is doubtful about rules, though it is no error.

use crate::code::AlgorithmCode;
use crate::request::PeriodCode;
use crate::rules::defaults::Defaults;
use crate::rules::document::Document;
use crate::rules::error::{Faults, RuleError};
use crate::rules::key::KeyPart;
use crate::rules::numbers::{DAY_US, Numbers, algorithm_name};
use crate::rules::rule::Rule;

/// Everything that is doubtful.
pub(crate) fn warnings(document: &Document, defaults: &Defaults, rules: &[Rule]) -> Vec<RuleError> {
    let mut warnings = Faults::default();
    if rules.is_empty() {
        warnings.add("rule".to_owned(), "there is none: nothing is limited".to_owned());
    }
    for (at, proxies) in defaults.trusted_proxies.iter().enumerate().filter(|(_, proxies)| proxies.bits() == 0) {
        let everybody = if proxies.address().is_ipv4() { "0.0.0.0/0" } else { "::/0" };
        let reason =
            format!("{everybody}: everybody is trusted, so whoever calls can say any address; name your proxies");
        warnings.add(format!("defaults.trusted_proxies[{at}]"), reason);
    }
    for rule in rules {
        let mut warn = |field: &str, reason: String| warnings.add(format!("rule[{}].{field}", rule.order()), reason);
        if let Some(numbers) = rule.numbers().filter(|numbers| is_refilled_budget(numbers)) {
            let algorithm = algorithm_name(numbers.algorithm);
            let more =
                "a budget of a day or more refills bit by bit in it, and up to twice as much passes in one window";
            warn("window", format!("{algorithm}: {more}; a fixed_window or calendar starts anew"));
        }
        if document.rule[rule.order()].key.is_none() && is_shared(rule) {
            warn(
                "key",
                "missing: all requests that it matches share one counter; if that is meant, say key = []".to_owned(),
            );
        } else if rule.key_parts().contains(&KeyPart::Path) {
            warn(
                "key",
                "\"path\": each spelling that the router accepts is a counter of its own; \"route\" is one".to_owned(),
            );
        } else if is_anybodys(rule.key_parts()) {
            warn(
                "key",
                "whoever calls chooses all of it, and so how often it is counted anew; add client or ip".to_owned(),
            );
        }
    }
    warnings.into_vec()
}

fn is_refilled_budget(numbers: &Numbers) -> bool {
    let is_bucket = matches!(numbers.algorithm, AlgorithmCode::TokenBucket | AlgorithmCode::LeakyBucket);
    is_bucket && matches!(numbers.period, PeriodCode::Micros(us) if us >= DAY_US)
}

/// Whether a rule counts everybody together, and not just one client or tenant.
fn is_shared(rule: &Rule) -> bool {
    let is_somebodys = rule.conditions.client.is_some() || rule.conditions.tenant.is_some();
    rule.numbers().is_some() && rule.key_parts().is_empty() && !is_somebodys
}

/// Whether a key tells requests apart by nothing but what was sent with them, without a proof.
fn is_anybodys(parts: &[KeyPart]) -> bool {
    let is_sent = |part: &KeyPart| matches!(part, KeyPart::Path | KeyPart::Method | KeyPart::Header(_));
    let is_fixed = |part: &KeyPart| matches!(part, KeyPart::Route(_));
    parts.iter().any(is_sent) && parts.iter().all(|part| is_sent(part) || is_fixed(part))
}
