//! What is counted: each case is a fixed piece of work.

use std::hint::black_box;
use std::sync::Arc;

use tallyring_benches::documents::{compiled, mixed, overrides, routes, subject};
use tallyring_benches::gateway::Gateway;
use tallyring_benches::keys::Keys;
use tallyring_benches::shard::Shard;
use tallyring_benches::{BATCH, frames, resp};
use tallyring_engine::Algorithm;
use tallyring_protocol::ring::Share;
use tallyring_protocol::rules::{RuleDoc, Subject};
use tallyring_protocol::{NodeId, Placement, PlacementSeed, Reply, Request, Ring};

/// Batches that are made up before the work begins, whatever part of them is then worked on.
pub(crate) const BATCHES_MAX: usize = 1_000;

/// Accounts of the engine's cases: enough that their state does not fit into a few cache lines, few enough for valgrind.
const ACCOUNTS: u32 = 20_000;

/// Units an hour that no case uses up.
const PLENTY: u64 = 100_000;

/// Units an hour of which filling has left none.
const NONE_LEFT: u64 = 1;

/// A piece of work: so many batches of 64 operations.
pub(crate) struct Case {
    /// Its name in the committed counts.
    pub(crate) name: &'static str,
    work: fn(batches: usize),
}

/// Every case.
pub(crate) const CASES: [Case; 19] = [
    Case { name: "protocol: encode a check", work: encode_checks },
    Case { name: "protocol: decode a check", work: decode_checks },
    Case { name: "protocol: encode a decision", work: encode_decisions },
    Case { name: "protocol: decode a decision", work: decode_decisions },
    Case { name: "protocol: both hashes of a key", work: hash_keys },
    Case { name: "protocol: whether a key is this node's, one of three", work: own_keys },
    Case { name: "engine: token_bucket, allowed", work: |batches| decide(Algorithm::TokenBucket, PLENTY, batches) },
    Case { name: "engine: token_bucket, allowed and noted for a replica", work: decide_followed },
    Case { name: "engine: token_bucket, denied", work: |batches| decide(Algorithm::TokenBucket, NONE_LEFT, batches) },
    Case { name: "engine: leaky_bucket, allowed", work: |batches| decide(Algorithm::LeakyBucket, PLENTY, batches) },
    Case { name: "engine: fixed_window, allowed", work: |batches| decide(Algorithm::FixedWindow, PLENTY, batches) },
    Case {
        name: "engine: sliding_counter, allowed",
        work: |batches| decide(Algorithm::SlidingCounter, PLENTY, batches),
    },
    Case { name: "engine: sliding_log, allowed", work: |batches| decide(Algorithm::SlidingLog, PLENTY, batches) },
    Case { name: "resp: a throttle, from bytes to bytes", work: throttle },
    Case { name: "engine: sliding_log, denied", work: |batches| decide(Algorithm::SlidingLog, NONE_LEFT, batches) },
    Case { name: "rules: resolve 2 winners of 10,000", work: |batches| resolve(overrides(), "/v1/charges", batches) },
    Case {
        name: "rules: resolve 3 winners of 10,000",
        work: |batches| resolve(routes(), "/v1/resource4001/7/items/42", batches),
    },
    Case { name: "rules: resolve 5 winners of 10,000", work: |batches| resolve(mixed(), "/v1/charges", batches) },
    Case { name: "client: resolve its one rule", work: |batches| Gateway::denying().resolve(batches * BATCH) },
];

/// Does the work of the case with this name. Called in the process that callgrind watches.
pub(crate) fn run(name: &str, batches: &str) -> Result<(), &'static str> {
    let case = CASES.iter().find(|case| case.name == name).ok_or("no such case")?;
    let batches = batches.parse().ok().filter(|batches| *batches <= BATCHES_MAX).ok_or("not a number of batches")?;
    (case.work)(batches);
    Ok(())
}

/// The keys of every batch.
fn batches_of_keys(keys: &mut Keys) -> Vec<Vec<u8>> {
    let draw = |_| {
        let mut blocks = Vec::new();
        keys.draw(BATCH, &mut blocks);
        blocks
    };
    (0..BATCHES_MAX).map(draw).collect()
}

fn encode_checks(batches: usize) {
    let (mut keys, mut out) = (Keys::of(ACCOUNTS), Vec::with_capacity(BATCH * 128));
    for blocks in &batches_of_keys(&mut keys)[..batches] {
        out.clear();
        keys.read(blocks).for_each(|key| frames::check(key).encode(1, &mut out));
        black_box(&out);
    }
}

fn decode_checks(batches: usize) {
    let keys = Keys::of(ACCOUNTS);
    let encode = |blocks: Vec<u8>| {
        let mut out = Vec::new();
        keys.read(&blocks).for_each(|key| frames::check(key).encode(1, &mut out));
        out
    };
    let encoded: Vec<Vec<u8>> = batches_of_keys(&mut keys.clone()).into_iter().map(encode).collect();
    for bytes in &encoded[..batches] {
        frames::each(bytes, |frame| {
            let _ = black_box(Request::decode(frame));
        });
    }
}

fn encode_decisions(batches: usize) {
    let mut out = Vec::with_capacity(BATCH * 64);
    for _ in 0..batches {
        out.clear();
        (0..BATCH as u64).for_each(|remaining| frames::decision(black_box(remaining)).encode(1, &mut out));
        black_box(&out);
    }
}

fn decode_decisions(batches: usize) {
    let mut out = Vec::new();
    (0..BATCH as u64).for_each(|remaining| frames::decision(remaining).encode(1, &mut out));
    for _ in 0..batches {
        frames::each(black_box(&out), |frame| {
            let _ = black_box(Reply::decode(frame));
        });
    }
}

/// Reads, hashes, prefetches, decides and answers: what a shard does for a throttle of a Redis client, but for its socket
/// and for finding the numbers among those used lately.
fn throttle(batches: usize) {
    let mut keys = Keys::of(ACCOUNTS);
    let mut shard = Shard::filled(Algorithm::TokenBucket, PLENTY, &keys);
    let encode = |blocks: Vec<u8>, keys: &Keys| {
        let mut out = Vec::new();
        keys.read(&blocks).for_each(|key| resp::throttle(key, &mut out));
        out
    };
    let drawn = batches_of_keys(&mut keys);
    let encoded: Vec<Vec<u8>> = drawn.into_iter().map(|blocks| encode(blocks, &keys)).collect();
    let (mut out, mut identities, mut asked) = (Vec::with_capacity(BATCH * 64), Vec::new(), Vec::new());
    for bytes in &encoded[..batches] {
        out.clear();
        identities.clear();
        asked.clear();
        resp::each(bytes, |key, command| {
            identities.push(shard.identity(key.as_ref()));
            asked.push(command);
        });
        let mut asked = asked.iter();
        shard.decide_each(&identities, |decision| {
            let asked = asked.next().expect("a decision is a command's");
            asked.write(&frames::decision(decision.remaining), &mut out);
        });
        black_box(&out);
    }
}

fn hash_keys(batches: usize) {
    let (mut keys, shard) = (Keys::of(ACCOUNTS), Shard::new(Algorithm::TokenBucket, 1));
    for blocks in &batches_of_keys(&mut keys)[..batches] {
        keys.read(blocks).for_each(|key| {
            black_box(shard.identity(key));
        });
    }
}

/// Looks up what has been hashed: the step that a cluster adds to every decision.
fn own_keys(batches: usize) {
    let ring = Ring::new(&PlacementSeed([1; 16]), (1..=3).map(|id| (NodeId(id), 1)));
    let share = Share::new(NodeId(2), Arc::new(ring));
    let (keys, shard) = (Keys::of(ACCOUNTS), Shard::new(Algorithm::TokenBucket, 1));
    let place = |blocks: Vec<u8>| -> Vec<Placement> {
        keys.read(&blocks).map(|key| Placement(shard.identity(key).placement)).collect()
    };
    let placements: Vec<Vec<Placement>> = batches_of_keys(&mut keys.clone()).into_iter().map(place).collect();
    for batch in &placements[..batches] {
        black_box(batch.iter().filter(|placement| share.holds(**placement)).count());
    }
}

/// Hashes, prefetches and decides.
fn decide(algorithm: Algorithm, units: u64, batches: usize) {
    let mut keys = Keys::of(ACCOUNTS);
    let mut shard = Shard::filled(algorithm, units, &keys);
    for blocks in &batches_of_keys(&mut keys)[..batches] {
        black_box(shard.check(&keys, blocks));
    }
}

/// The same while a replica follows: what each decision adds. The reading of changes is not in it: it comes once for all
/// decisions of some milliseconds, and fewer are made here than are noted.
fn decide_followed(batches: usize) {
    let mut keys = Keys::of(ACCOUNTS);
    let mut shard = Shard::filled(Algorithm::TokenBucket, PLENTY, &keys);
    shard.follow_changes();
    for blocks in &batches_of_keys(&mut keys)[..batches] {
        black_box(shard.check(&keys, blocks));
    }
}

fn resolve(rules: Vec<RuleDoc>, path: &str, batches: usize) {
    let (rules, subject) = (compiled(rules), Subject { path, ..subject() });
    for _ in 0..batches * BATCH {
        black_box(rules.resolve(black_box(&subject)));
    }
}
