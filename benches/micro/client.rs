//! What a gateway pays for a decision that asks nobody, from the call to its answer: the clock read, the rule resolved, the
//! key built and hashed, the answer made. One rule, one thread.
//!
//! "resolved" is the part that is `RuleSet::resolve`, for the same calls: what is between the two is the decision.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tallyring_benches::gateway::Gateway;

fn timed(work: impl FnOnce(usize), calls: u64) -> Duration {
    let start = Instant::now();
    work(usize::try_from(calls).expect("as many calls as fit into a run"));
    start.elapsed()
}

fn local(c: &mut Criterion) {
    let gateways = [
        ("deny cache", Gateway::refusing as fn() -> Gateway),
        ("grant", Gateway::granting),
        ("fallback", Gateway::alone),
        ("mode", Gateway::denying),
    ];
    for (name, gateway) in gateways {
        let gateway = gateway();
        c.bench_function(&format!("client/{name}"), |b| b.iter_custom(|n| timed(|n| gateway.check(n), n)));
        c.bench_function(&format!("client/{name}, resolved"), |b| b.iter_custom(|n| timed(|n| gateway.resolve(n), n)));
    }
}

criterion_group!(client, local);
criterion_main!(client);
