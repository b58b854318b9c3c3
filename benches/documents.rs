//! Documents of ten thousand rules as operators write them, by what tells their rules apart, and a request that meets them.

use tallyring_protocol::bounds::RULES_MAX;
use tallyring_protocol::rules::{Document, MatchDoc, RuleDoc, RuleSet, Subject};

/// Headers of [`subject`].
const HEADERS: &[(&str, &str)] = &[("x-plan", "plan4003")];

/// A request that some rule of every document is for.
pub fn subject() -> Subject<'static> {
    Subject {
        client: Some("cust_4001"),
        tenant: Some("tenant_4004"),
        tier: Some("free"),
        ip: Some([10, 15, 162, 9].into()),
        headers: &HEADERS,
        ..Subject::new("POST", "/v1/charges")
    }
}

/// What everybody has: a limit an address, one a client, a free pass for probes.
fn base() -> Vec<RuleDoc> {
    let health = RuleDoc {
        id: "health".into(),
        matches: route("GET /healthz".into()),
        action: Some("allow".into()),
        ..RuleDoc::default()
    };
    vec![rule(0, "ip", MatchDoc::default(), "ip"), rule(0, "default", MatchDoc::default(), "client"), health]
}

/// A limit of its own for each of so many clients.
pub fn overrides() -> Vec<RuleDoc> {
    let of = |at| MatchDoc { client: Some(format!("cust_{at}")), ..MatchDoc::default() };
    filled(|at| rule(at, "default", of(at), "client"))
}

/// A limit for each of so many routes of an API.
pub fn routes() -> Vec<RuleDoc> {
    filled(|at| rule(at, "route", route(format!("POST /v1/resource{at}/{{id}}/items/{{item}}")), "client"))
}

/// Tiers by routes, clients by routes, networks, headers: everything at once.
pub fn mixed() -> Vec<RuleDoc> {
    let tier = |at: usize| Some(["free", "pro", "scale"][at % 3].to_owned());
    let matches = |at: usize| match at % 5 {
        0 => MatchDoc { tier: tier(at), ..route(format!("/v1/resource{at}/{{id}}")) },
        1 => MatchDoc { client: Some(format!("cust_{at}")), ..route("POST /v1/charges".into()) },
        2 => MatchDoc { ip: Some(format!("10.{}.{}.0/24", at / 256 % 256, at % 256)), ..MatchDoc::default() },
        3 => MatchDoc { header: [("X-Plan".to_owned(), format!("plan{at}"))].into(), ..MatchDoc::default() },
        _ => MatchDoc { tenant: Some(format!("tenant_{at}")), ..route(format!("/v1/{{kind}}/r{at}/*")) },
    };
    let group = |at: usize| ["tiers", "clients", "networks", "plans", "tenants"][at % 5];
    filled(|at| rule(at, group(at), matches(at), "client"))
}

/// The document of these rules.
pub fn document(rules: Vec<RuleDoc>) -> Document {
    Document { rule: rules, ..Document::default() }
}

/// These rules, compiled.
///
/// # Panics
/// If they are wrong.
pub fn compiled(rules: Vec<RuleDoc>) -> RuleSet {
    RuleSet::compile(document(rules)).expect("rules that are right")
}

/// What everybody has, and as many more rules as a document may have.
fn filled(rule: impl FnMut(usize) -> RuleDoc) -> Vec<RuleDoc> {
    let base = base();
    let more = RULES_MAX - base.len();
    base.into_iter().chain((1..=more).map(rule)).collect()
}

/// A rule of a group, for those that a pattern of method and path and a client's name say.
fn rule(at: usize, group: &str, matches: MatchDoc, key: &str) -> RuleDoc {
    RuleDoc {
        id: format!("{group}-{at}"),
        group: Some(group.into()),
        matches,
        key: Some(vec![key.into()]),
        algorithm: Some("sliding_counter".into()),
        limit: Some(100),
        window: Some("1m".into()),
        ..RuleDoc::default()
    }
}

fn route(route: String) -> MatchDoc {
    MatchDoc { route: Some(route), ..MatchDoc::default() }
}
