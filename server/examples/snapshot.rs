//! How fast state moves: an engine full of keys exported, written, read and taken in by another one.
//!
//! Nanoseconds a record (but for the longest step of the export, which is nanoseconds a step of up to 4,096 records), and
//! bytes a record in the file. `charge` is what it took to fill the engine, for comparison.
//!
//! ```text
//! cargo run --release -p tallyring --example snapshot -- [KEYS]
//! ```
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::error::Error;
use std::time::{Duration, Instant};

use tallyring::snapshot::{self, Fingerprint};
use tallyring_engine::*;
use tallyring_protocol::{IdentityKey, PlacementSeed};

const KEYS_DEFAULT: u64 = 1_000_000;
/// An ordinary morning, in microseconds since the epoch.
const NOW_US: u64 = 1_700_000_000_000_000;
/// Admitted instants in each log.
const LOG_LEN: u64 = 100;
/// Records of one step: what keeps a shard from its calls for less than a millisecond.
const RECORDS_PER_STEP: usize = 4_096;

fn main() -> Result<(), Box<dyn Error>> {
    let keys = std::env::args().nth(1).map_or(Ok(KEYS_DEFAULT), |keys| keys.parse())?;
    let columns = ["charge", "export", "step max", "changes", "write", "read", "import", "bytes"];
    println!("{:<17}{}", "ns a record", columns.map(|column| format!("{column:>10}")).concat());
    for (algorithm, keys) in [
        (Algorithm::TokenBucket, keys),
        (Algorithm::FixedWindow, keys),
        (Algorithm::SlidingCounter, keys),
        (Algorithm::SlidingLog, keys / LOG_LEN),
    ] {
        measure(algorithm, keys)?;
    }
    Ok(())
}

fn measure(algorithm: Algorithm, keys: u64) -> Result<(), Box<dyn Error>> {
    let mut engine = Engine::new(Bounds::default());
    let limit = Limit::new(algorithm, 1_000, Period::Micros(3_600_000_000), None)?;
    let limit = engine.intern("rule", limit)?;
    let calls = if algorithm == Algorithm::SlidingLog { LOG_LEN } else { 1 };
    let start = Instant::now();
    charge(&mut engine, limit, keys, calls)?;
    let charging = start.elapsed();

    let (batches, export, step_max) = export(&mut engine);
    let changes = changes(&mut engine, limit, keys.min(10_000))?;
    let of = Fingerprint::new(PlacementSeed([1; 16]), &IdentityKey([2; 16]));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("counters");
    let start = Instant::now();
    let written = snapshot::write(&path, of, batches)?;
    let write = start.elapsed();
    let start = Instant::now();
    let read: Vec<Batch> = snapshot::read(&path, of)?.collect::<Result<_, _>>()?;
    let reading = start.elapsed();
    let import = import(&read)?;

    let ns = |took: Duration| took.as_nanos() / u128::from(keys);
    let figures = [ns(charging), ns(export), step_max.as_nanos(), changes, ns(write), ns(reading), ns(import)];
    let bytes = u128::from(written.bytes / keys);
    let figures = figures.into_iter().chain([bytes]).map(|figure| format!("{figure:>10}"));
    println!("{:<17}{}", algorithm.name(), figures.collect::<String>());
    Ok(())
}

fn charge(engine: &mut Engine, limit: LimitId, keys: u64, calls: u64) -> Result<(), Full> {
    for call in 0..calls {
        let now = Timestamp::from_micros(NOW_US + call * 1_000_000);
        for no in 0..keys {
            engine.check(now, identity(no), limit, Ask::new(1 + no % 7))?;
        }
    }
    Ok(())
}

/// Every batch, the time that all steps took, and the longest one.
fn export(engine: &mut Engine) -> (Vec<Batch>, Duration, Duration) {
    let (mut batches, mut steps, mut from) = (Vec::new(), Vec::new(), Some(Cursor::START));
    while let Some(cursor) = from {
        let start = Instant::now();
        let (batch, next) = engine.export(Timestamp::EPOCH, &Placements::all(), cursor, RECORDS_PER_STEP);
        steps.push(start.elapsed());
        batches.push(batch);
        from = next;
    }
    (batches, steps.iter().sum(), steps.into_iter().max().unwrap_or_default())
}

/// Nanoseconds a changed key, to read what changed.
fn changes(engine: &mut Engine, limit: LimitId, keys: u64) -> Result<u128, Box<dyn Error>> {
    engine.follow_changes();
    charge(engine, limit, keys, 1)?;
    let start = Instant::now();
    let batch = engine.changes(Timestamp::EPOCH)?;
    Ok(start.elapsed().as_nanos() / batch.records.len() as u128)
}

fn import(batches: &[Batch]) -> Result<Duration, Box<dyn Error>> {
    let mut engine = Engine::new(Bounds::default());
    let mut intake = Intake::in_order();
    let now = Timestamp::from_micros(NOW_US + LOG_LEN * 1_000_000);
    let start = Instant::now();
    for batch in batches {
        engine.import(now, &mut intake, batch)?;
    }
    Ok(start.elapsed())
}

fn identity(no: u64) -> Identity {
    Identity { placement: no.wrapping_mul(0x9e37_79b9_7f4a_7c15), identity: no.wrapping_mul(0xd134_2543_de82_ef95) }
}
