//! The slow way to resolve a request: every rule of the document, by the words of the specification, on the document itself.
//!
//! It shares no code with what it judges but the normal form of paths and the ranges of addresses.

use std::net::IpAddr;

use tallyring_protocol::rules::{DefaultsDoc, Document, Network, RuleDoc, Subject, normalised_path};

/// The ids of the winners, enforced and shadow, in the order of the document.
pub(crate) fn winners(document: &Document, subject: &Subject<'_>) -> (Vec<String>, Vec<String>) {
    let mut enforced = Vec::new();
    let mut shadow = Vec::new();
    for (order, rule) in document.rule.iter().enumerate() {
        let wins = applies(rule, subject)
            && document.rule.iter().enumerate().all(|(other_order, other)| {
                other_order == order
                    || group(other) != group(rule)
                    || is_shadow(other) != is_shadow(rule)
                    || !applies(other, subject)
                    || specificity(other) < specificity(rule)
            });
        if wins && rule.action.as_deref() != Some("allow") {
            let DefaultsDoc { enforce, .. } = document.defaults;
            let list = if is_shadow(rule) || enforce == Some(false) { &mut shadow } else { &mut enforced };
            list.push(rule.id.clone());
        }
    }
    (enforced, shadow)
}

/// Whether two rules compete and neither is more specific.
pub(crate) fn tie(a: &RuleDoc, b: &RuleDoc) -> bool {
    group(a) == group(b) && is_shadow(a) == is_shadow(b) && specificity(a) == specificity(b)
}

pub(crate) fn group(rule: &RuleDoc) -> &str {
    rule.group.as_deref().unwrap_or("default")
}

fn is_shadow(rule: &RuleDoc) -> bool {
    rule.mode.as_deref() == Some("shadow")
}

/// Whether a rule matches and its key has all its parts.
pub(crate) fn applies(rule: &RuleDoc, subject: &Subject<'_>) -> bool {
    matches(rule, subject) && rule.key.iter().flatten().all(|part| has(part, subject) || falls_back(rule, subject))
}

fn falls_back(rule: &RuleDoc, subject: &Subject<'_>) -> bool {
    rule.missing.as_deref() == Some("ip") && subject.ip.is_some()
}

fn has(part: &str, subject: &Subject<'_>) -> bool {
    let there = |value: Option<&str>| value.is_some_and(|value| !value.is_empty());
    match part.split_once(':') {
        Some(("header", name)) => there(subject.headers.get(&name.to_ascii_lowercase())),
        Some(("attr", name)) => there(subject.attributes.get(name)),
        _ => match part {
            "client" => there(subject.client),
            "tenant" => there(subject.tenant),
            "tier" => there(subject.tier),
            "ip" => subject.ip.is_some(),
            _ => true,
        },
    }
}

/// Whether a rule's conditions hold.
pub(crate) fn matches(rule: &RuleDoc, subject: &Subject<'_>) -> bool {
    let wanted = &rule.matches;
    let is =
        |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|wanted| Some(wanted) == found);
    is(&wanted.client, subject.client)
        && is(&wanted.tenant, subject.tenant)
        && is(&wanted.tier, subject.tier)
        && wanted.route.as_deref().is_none_or(|route| route_matches(route, subject.method, subject.path))
        && wanted.ip.as_deref().is_none_or(|range| within(range, subject.ip))
        && wanted.header.iter().all(|(name, value)| subject.headers.get(&name.to_ascii_lowercase()) == Some(value))
        && wanted.attr.iter().all(|(name, value)| subject.attributes.get(name) == Some(value))
}

fn within(range: &str, ip: Option<IpAddr>) -> bool {
    ip.is_some_and(|ip| range.parse::<Network>().expect("a range").contains(ip))
}

/// A pattern as method and segments.
fn pattern(route: &str) -> (Option<&str>, Vec<&str>) {
    let (method, path) = route.split_once(' ').map_or((None, route), |(method, path)| (Some(method), path));
    (method, path.split('/').filter(|segment| !segment.is_empty()).collect())
}

fn route_matches(route: &str, method: &str, path: &str) -> bool {
    let (wanted, mut segments) = pattern(route);
    let path = normalised_path(path);
    let found: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let open = segments.pop_if(|last| *last == "*").is_some();
    let long_enough = if open { found.len() >= segments.len() } else { found.len() == segments.len() };
    let fits = |(wanted, found): (&&str, &&str)| wanted.starts_with('{') || wanted == found;
    wanted.is_none_or(|wanted| wanted == method) && long_enough && segments.iter().zip(&found).all(fits)
}

/// Identity, class of the route, its length, whether it has a method, other fields, rank.
fn specificity(rule: &RuleDoc) -> (u8, u8, usize, bool, usize, i32) {
    let wanted = &rule.matches;
    let identity = match wanted {
        _ if wanted.client.is_some() => 3,
        _ if wanted.tenant.is_some() => 2,
        _ if wanted.tier.is_some() => 1,
        _ => 0,
    };
    let (class, length, has_method) = wanted.route.as_deref().map_or((0, 0, false), |route| {
        let (method, segments) = pattern(route);
        let open = segments.last() == Some(&"*");
        let class = if open {
            1
        } else if route.contains('{') {
            2
        } else {
            3
        };
        (class, segments.len() - usize::from(open), method.is_some())
    });
    let named = [&wanted.client, &wanted.tenant, &wanted.tier].into_iter().flatten().count();
    let others = named.saturating_sub(1) + usize::from(wanted.ip.is_some()) + wanted.header.len() + wanted.attr.len();
    (identity, class, length, has_method, others, rule.rank.unwrap_or(0))
}
