//! What a decision costs: both hashes, prefetch and check, in batches of 64 random keys, by the number of keys that have
//! state; and the same for one hot key.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::{Duration, Instant};

use criterion::{
    BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use tallyring_benches::BATCH;
use tallyring_benches::keys::Keys;
use tallyring_benches::shard::Shard;
use tallyring_engine::Algorithm;

/// Units an hour that no run uses up: every call is allowed and charges.
const PLENTY: u64 = 1_000_000_000;

/// Units an hour of which filling has left none: every call is denied.
const NONE_LEFT: u64 = 1;

/// Random keys, under a limit that allows or denies.
fn random(c: &mut Criterion) {
    for (name, accounts) in [("1e3", 1_000), ("1e6", 1_000_000), ("1e7", 10_000_000)] {
        let mut group = group(c, &format!("token_bucket, {name} keys"));
        for (outcome, units) in [("allowed", PLENTY), ("denied", NONE_LEFT)] {
            let mut keys = Keys::of(accounts);
            let mut shard = Shard::filled(Algorithm::TokenBucket, units, &keys);
            group.bench_function(outcome, |b| b.iter_custom(|batches| time(&mut shard, &mut keys, batches)));
        }
        group.finish();
    }
}

/// One key that everybody asks for, with and without its hashes.
fn hot(c: &mut Criterion) {
    let mut group = group(c, "token_bucket, one hot key");
    let mut keys = Keys::of(1);
    let mut shard = Shard::filled(Algorithm::TokenBucket, PLENTY, &keys);
    group.bench_function("hashed", |b| b.iter_custom(|batches| time(&mut shard, &mut keys, batches)));
    group.bench_function("hash known", |b| b.iter(|| shard.decide()));
    group.finish();
}

/// The other algorithms at a million keys.
fn algorithms(c: &mut Criterion) {
    let mut group = group(c, "allowed, 1e6 keys");
    let others = [
        (Algorithm::LeakyBucket, PLENTY),
        (Algorithm::FixedWindow, PLENTY),
        (Algorithm::SlidingCounter, PLENTY),
        (Algorithm::SlidingLog, 100_000),
    ];
    for (algorithm, units) in others {
        let mut keys = Keys::of(1_000_000);
        let mut shard = Shard::filled(algorithm, units, &keys);
        group.bench_function(algorithm.name(), |b| b.iter_custom(|batches| time(&mut shard, &mut keys, batches)));
    }
    group.finish();
}

/// Samples of one size: in a short one, a single slice of another program's time would outweigh what is measured.
fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(BATCH as u64)).sample_size(30).sampling_mode(SamplingMode::Flat);
    group
}

/// The time of `batches` batches, without the time that it takes to make their keys up.
fn time(shard: &mut Shard, keys: &mut Keys, batches: u64) -> Duration {
    let (mut elapsed, mut blocks) = (Duration::ZERO, Vec::new());
    for _ in 0..batches {
        keys.draw(BATCH, &mut blocks);
        let started = Instant::now();
        std::hint::black_box(shard.check(keys, &blocks));
        elapsed += started.elapsed();
    }
    elapsed
}

criterion_group!(engine, random, hot, algorithms);
criterion_main!(engine);
