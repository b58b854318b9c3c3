//! Which of ten thousand rules are for a request, and how long it takes to compile so many.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tallyring_benches::documents::{compiled, document, mixed, overrides, routes, subject};
use tallyring_protocol::rules::{RuleDoc, RuleSet, Subject};

fn resolution(c: &mut Criterion) {
    let subject = subject();
    let mut group = c.benchmark_group("resolve among 10,000 rules");
    let mut measure = |name: &str, rules: Vec<RuleDoc>, subject: Subject<'_>, winners: usize| {
        let rules = compiled(rules);
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
        let json = document(rules).to_json();
        group.bench_function(name, |b| b.iter(|| RuleSet::from_json(black_box(json.as_bytes()))));
    }
    group.finish();
}

criterion_group!(benches, resolution, compilation);
criterion_main!(benches);
