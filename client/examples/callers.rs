//! What a call costs the gateway: many concurrent callers, one connection, CPU time of this process a call.
//!
//! ```text
//! tallyring serve --shards 1 &
//! cargo run --release -p tallyring-client --example callers -- 127.0.0.1:4170 64 3
//! ```
//! The arguments are the store, the concurrent callers and the seconds. Linux only: it reads `/proc/self/stat`.

use std::time::Duration;

use tallyring_client::{Algorithm, Ask, Key, Limit, Period, Store, StoreConfig};

const KEYS: usize = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or("127.0.0.1:4170".into());
    let callers: usize = args.next().unwrap_or("64".into()).parse()?;
    let seconds = args.next().unwrap_or("3".into()).parse()?;

    let deadline = Duration::from_secs(1);
    let store = Store::open(StoreConfig { seeds: vec![address], deadline, ..StoreConfig::default() });
    if !store.ready(Duration::from_secs(5)).await {
        return Err("the store does not answer".into());
    }
    let limit = store.define(Limit::new(Algorithm::TokenBucket, 100, Period::Micros(60_000_000), Some(50))?)?;
    let keys: Vec<Key> =
        (0..KEYS).map(|n| Key::raw(format!("rl:{{acct_{n:06}}}:route").as_bytes())).collect::<Result<_, _>>()?;
    let keys: &'static [Key] = keys.leak();

    let start = tokio::time::Instant::now();
    let end = start + Duration::from_secs(seconds);
    let cpu_before = cpu_ns()?;
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let (store, limit) = (store.clone(), limit.clone());
        tasks.spawn(async move {
            let (mut calls, mut failed, mut n) = (0u64, 0u64, caller * 7_919);
            while tokio::time::Instant::now() < end {
                for _ in 0..100 {
                    n = (n + 104_729) % KEYS;
                    failed += u64::from(store.check(&limit, &keys[n], Ask::new(1)).await.is_err());
                    calls += 1;
                }
            }
            (calls, failed)
        });
    }
    let counts = tasks.join_all().await;
    let (calls, failed) = counts.iter().fold((0, 0), |(calls, failed), one| (calls + one.0, failed + one.1));
    let (cpu, wall) = (cpu_ns()? - cpu_before, start.elapsed());
    println!(
        "{callers} callers: {} calls/s, {failed} failed, {} CPU-ns a call, CPU {} %",
        u128::from(calls) * 1_000_000 / wall.as_micros(),
        cpu / calls,
        u128::from(cpu) / (wall.as_nanos() / 100)
    );
    Ok(())
}

/// User and system time of this process, in nanoseconds, in steps of ten milliseconds.
fn cpu_ns() -> Result<u64, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(ticks * 10_000_000)
}
