//! What the wire costs: encoding and decoding the hot frames, and the hashes of a key, in batches of 64.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tallyring_benches::keys::Keys;
use tallyring_benches::shard::Shard;
use tallyring_benches::{BATCH, frames};
use tallyring_engine::Algorithm;
use tallyring_protocol::{Reply, Request};

fn requests(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    group.throughput(Throughput::Elements(BATCH as u64));
    let (mut keys, mut blocks, mut out) = (Keys::of(1_000_000), Vec::new(), Vec::new());
    keys.draw(BATCH, &mut blocks);
    group.bench_function("encode", |b| {
        b.iter(|| {
            out.clear();
            keys.read(black_box(&blocks)).for_each(|key| frames::check(key).encode(1, &mut out));
            out.len()
        });
    });
    group.bench_function("decode", |b| {
        b.iter(|| {
            frames::each(black_box(&out), |frame| {
                let _ = black_box(Request::decode(frame));
            });
        });
    });
    group.finish();
}

fn replies(c: &mut Criterion) {
    let mut group = c.benchmark_group("decision");
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut out = Vec::new();
    group.bench_function("encode", |b| {
        b.iter(|| {
            out.clear();
            (0..BATCH as u64).for_each(|remaining| frames::decision(black_box(remaining)).encode(1, &mut out));
            out.len()
        });
    });
    group.bench_function("decode", |b| {
        b.iter(|| {
            frames::each(black_box(&out), |frame| {
                let _ = black_box(Reply::decode(frame));
            });
        });
    });
    group.finish();
}

fn hashes(c: &mut Criterion) {
    let mut group = c.benchmark_group("key");
    group.throughput(Throughput::Elements(BATCH as u64));
    let (mut keys, mut blocks) = (Keys::of(1_000_000), Vec::new());
    keys.draw(BATCH, &mut blocks);
    let shard = Shard::new(Algorithm::TokenBucket, 1);
    group.bench_function("place and identify", |b| {
        b.iter(|| {
            keys.read(black_box(&blocks)).for_each(|key| {
                black_box(shard.identity(key));
            });
        });
    });
    group.finish();
}

criterion_group!(protocol, requests, replies, hashes);
criterion_main!(protocol);
