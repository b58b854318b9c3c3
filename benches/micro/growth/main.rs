//! What a shard's turn costs while its table grows to millions of keys and while they all expire, and what a key weighs.
//!
//! `cargo run --release -p tallyring-benches --bin growth [KEYS]`; a minute for the ten million of the default. A mean
//! hides the one turn in which a table is rehashed; so every turn is timed and the slowest is shown.

#![allow(clippy::disallowed_methods, reason = "a benchmark is there to read the clock")]

mod heap;

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tallyring_benches::BATCH;
use tallyring_benches::keys::Keys;
use tallyring_benches::shard::Shard;
use tallyring_engine::Algorithm;

/// Keys of the run unless it is told otherwise.
const KEYS: u32 = 10_000_000;

/// Keys that one share of the sweep looks at: what a shard does between two turns.
const EXPIRIES_PER_SHARE: usize = 512;

/// The longest turn that can be recorded, in nanoseconds: ten seconds.
const NANOS_MAX: u64 = 10_000_000_000;

/// Instants in the log that is weighed.
const LOG_INSTANTS: u64 = 100_000;

fn main() {
    let keys = std::env::args().nth(1).map_or(Ok(KEYS), |text| text.parse());
    let Ok(keys) = keys else {
        eprintln!("growth: the argument is a number of keys");
        std::process::exit(2);
    };
    println!("{:<44}{:>10}{:>10}{:>10}{:>10}{:>10}", "microseconds", "p50", "p99", "p99.9", "p99.99", "max");
    let mut shard = Shard::new(Algorithm::FixedWindow, 1_000);
    grow(&mut shard, keys);
    expire(&mut shard);
    weigh_log();
}

/// Charges every key once, in turns of 64 keys never seen before.
fn grow(shard: &mut Shard, count: u32) {
    let keys = Keys::of(count);
    let (mut turns, mut blocks) = (Turns::new(), Vec::new());
    let resident_before = heap::resident_bytes();
    for first in (0..count).step_by(BATCH) {
        blocks.clear();
        let batch = first..count.min(first + BATCH as u32);
        batch.for_each(|account| keys.put(account, &mut blocks));
        turns.time(|| shard.check(&keys, &blocks));
    }
    turns.print(&format!("a turn of {BATCH} new keys, 0 → {}", shard.keys()));
    let resident = (heap::resident_bytes() - resident_before) as f64 / shard.keys() as f64;
    let counted = shard.bytes() as f64 / shard.keys() as f64;
    println!("bytes a key: {resident:.1} resident, {counted:.1} as the engine counts them");
}

/// Lets all windows end at one instant, and decides on while the sweep catches up.
fn expire(shard: &mut Shard) {
    let keys = Keys::of(1_000_000);
    let mut draw = keys.clone();
    let (mut turns, mut shares, mut blocks) = (Turns::new(), Turns::new(), Vec::new());
    let expired_from = shard.keys();
    shard.pass_a_period();
    let began = Instant::now();
    loop {
        draw.draw(BATCH, &mut blocks);
        turns.time(|| shard.check(&keys, &blocks));
        if shares.time(|| shard.expire(EXPIRIES_PER_SHARE)) < EXPIRIES_PER_SHARE {
            break;
        }
    }
    turns.print(&format!("a turn of {BATCH} while {expired_from} keys expire"));
    shares.print(&format!("a share of {EXPIRIES_PER_SHARE} expiries"));
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "all forgotten after {seconds:.1} s of turns and shares in turn: {:.1} M keys/s",
        expired_from as f64 / seconds / 1e6
    );
}

/// Fills one key's log with an instant every millisecond.
fn weigh_log() {
    let mut shard = Shard::new(Algorithm::SlidingLog, LOG_INSTANTS);
    let keys = Keys::of(1);
    let mut blocks = Vec::new();
    keys.put(0, &mut blocks);
    let mut turns = Turns::new();
    turns.time(|| shard.check(&keys, &blocks)); // the first key brings a chunk of the table, which is not the log's
    let empty = shard.bytes();
    for _ in 1..LOG_INSTANTS {
        shard.pass(1_000);
        turns.time(|| shard.check(&keys, &blocks));
    }
    turns.print("one call on a log that grows to 100000");
    let mut denied = Turns::new();
    for _ in 0..1_000 {
        assert_eq!(denied.time(|| shard.check(&keys, &blocks)), 0, "the log is full");
    }
    denied.print("one denied call on the full log");
    println!("bytes an admitted instant: {:.2}", (shard.bytes() - empty) as f64 / LOG_INSTANTS as f64);
}

/// How long each turn took.
struct Turns(Histogram<u64>);

impl Turns {
    fn new() -> Turns {
        Turns(Histogram::new_with_max(NANOS_MAX, 3).expect("three digits is a precision"))
    }

    fn time<T>(&mut self, turn: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = turn();
        self.0.saturating_record(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        result
    }

    fn print(&self, what: &str) {
        let us = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64() * 1e6;
        let at = |quantile| format!("{:>10.1}", us(self.0.value_at_quantile(quantile)));
        let quantiles: String = [0.5, 0.99, 0.999, 0.9999].into_iter().map(at).collect();
        println!("{what:<44}{quantiles}{:>10.1}", us(self.0.max()));
    }
}
