//! Which of ten thousand rules are for a request: documents as operators write them, by what tells their rules apart.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tallyring_protocol::bounds::RULES_MAX;
use tallyring_protocol::rules::{Document, MatchDoc, RuleDoc, RuleSet, Subject};

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
fn overrides() -> Vec<RuleDoc> {
    let of = |at| MatchDoc { client: Some(format!("cust_{at}")), ..MatchDoc::default() };
    (1..RULES_MAX - 2).map(|at| rule(at, "default", of(at), "client")).collect()
}

/// A limit for each of so many routes of an API.
fn routes() -> Vec<RuleDoc> {
    (1..RULES_MAX - 2)
        .map(|at| rule(at, "route", route(format!("POST /v1/resource{at}/{{id}}/items/{{item}}")), "client"))
        .collect()
}

/// Tiers by routes, clients by routes, networks, headers: everything at once.
fn mixed() -> Vec<RuleDoc> {
    let tier = |at: usize| Some(["free", "pro", "scale"][at % 3].to_owned());
    let matches = |at: usize| match at % 5 {
        0 => MatchDoc { tier: tier(at), ..route(format!("/v1/resource{at}/{{id}}")) },
        1 => MatchDoc { client: Some(format!("cust_{at}")), ..route("POST /v1/charges".into()) },
        2 => MatchDoc { ip: Some(format!("10.{}.{}.0/24", at / 256 % 256, at % 256)), ..MatchDoc::default() },
        3 => MatchDoc { header: [("X-Plan".to_owned(), format!("plan{at}"))].into(), ..MatchDoc::default() },
        _ => MatchDoc { tenant: Some(format!("tenant_{at}")), ..route(format!("/v1/{{kind}}/r{at}/*")) },
    };
    let group = |at: usize| ["tiers", "clients", "networks", "plans", "tenants"][at % 5];
    (1..RULES_MAX - 2).map(|at| rule(at, group(at), matches(at), "client")).collect()
}

fn compile(rules: Vec<RuleDoc>) -> RuleSet {
    let document = Document { rule: [base(), rules].concat(), ..Document::default() };
    assert_eq!(document.rule.len(), RULES_MAX);
    RuleSet::compile(document).expect("rules that are right")
}

fn resolution(c: &mut Criterion) {
    let headers = [("x-plan", "plan4003")];
    let subject = Subject {
        client: Some("cust_4001"),
        tenant: Some("tenant_4004"),
        tier: Some("free"),
        ip: Some([10, 15, 162, 9].into()),
        headers: &headers,
        ..Subject::new("POST", "/v1/charges")
    };
    let mut group = c.benchmark_group("resolve among 10,000 rules");
    let mut measure = |name: &str, rules: Vec<RuleDoc>, subject: Subject<'_>, winners: usize| {
        let rules = compile(rules);
        assert_eq!(rules.resolve(&subject).enforced.len(), winners, "{name}");
        group.bench_function(name, |b| b.iter(|| black_box(rules.resolve(black_box(&subject)))));
    };
    measure("a limit for each client", overrides(), subject, 2);
    measure("a limit for each route", routes(), Subject { path: "/v1/resource4001/7/items/42", ..subject }, 3);
    measure("everything at once", mixed(), subject, 5);
    measure("everything at once, a path spelled oddly", mixed(), Subject { path: "//v1/%63harges/", ..subject }, 5);
    measure("a free pass", overrides(), Subject { client: None, path: "/healthz", method: "GET", ..subject }, 1);
    group.finish();
}

fn compilation(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile 10,000 rules");
    group.sample_size(10);
    for (name, rules) in [("clients", overrides()), ("routes", routes()), ("mixed", mixed())] {
        let json = Document { rule: [base(), rules].concat(), ..Document::default() }.to_json();
        group.bench_function(name, |b| b.iter(|| RuleSet::from_json(black_box(json.as_bytes()))));
    }
    group.finish();
}

criterion_group!(benches, resolution, compilation);
criterion_main!(benches);
