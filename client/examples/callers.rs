//! What a call costs the gateway: many concurrent callers, one connection, CPU time of this process a call.
//!
//! ```text
//! tallyring serve --shards 1 &
//! cargo run --release -p tallyring-client --example callers -- 127.0.0.1:4170 64 3 1
//! ```
//! The arguments are the store, the concurrent callers, the seconds and the threads they run on. It measures the bare
//! store, the limiter, which resolves rules, keeps its fallback warm and remembers refusals beside, and a limiter whose
//! store is gone. Linux only: it reads `/proc/self/stat`.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use tallyring_client::{
    Algorithm, Ask, Call, Key, Limit, Period, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig,
    Subject,
};
use tokio::runtime::Builder;
use tokio::time::Instant;

/// Keys, each with a budget of its own; about half of the calls are denied.
const KEYS: usize = 10_000;

/// Calls between two looks at the clock.
const CALLS_A_LOOK: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or("127.0.0.1:4170".into());
    let callers = args.next().unwrap_or("64".into()).parse()?;
    let span = Duration::from_secs(args.next().unwrap_or("3".into()).parse()?);
    let mut runtime = match args.next().unwrap_or("1".into()).parse()? {
        1 => Builder::new_current_thread(),
        threads => {
            let mut runtime = Builder::new_multi_thread();
            runtime.worker_threads(threads);
            runtime
        }
    };
    runtime.enable_all().build()?.block_on(measure_all(address, callers, span))
}

async fn measure_all(address: String, callers: usize, span: Duration) -> Result<(), Box<dyn Error>> {
    let deadline = Duration::from_secs(1);
    let store = Store::open(StoreConfig { seeds: vec![address], deadline, ..StoreConfig::default() });
    if !store.ready(Duration::from_secs(5)).await {
        return Err("the store does not answer".into());
    }
    let limit = Limit::new(Algorithm::TokenBucket, 100, Period::Micros(60_000_000), Some(50))?;
    let clients: &'static [String] = (0..KEYS).map(|n| format!("acct_{n:06}")).collect::<Vec<String>>().leak();
    let key = |client: &String| Key::raw(format!("rl:{{{client}}}:route").as_bytes());
    let keys: &'static [Key] = clients.iter().map(key).collect::<Result<Vec<Key>, _>>()?.leak();

    let handle = store.define(limit)?;
    let asked = store.clone();
    measure("store", callers, span, move |n| {
        let (store, handle) = (asked.clone(), handle.clone());
        async move { store.check(&handle, &keys[n], Ask::new(1)).await.is_ok() }
    })
    .await?;
    let limiter = RateLimiter::new(store, config()?);
    measure("limiter", callers, span, move |n| {
        let limiter = limiter.clone();
        async move { matches!(check(&limiter, &clients[n]).await, Source::Store | Source::DenyCache) }
    })
    .await?;
    let nowhere = Store::open(StoreConfig { seeds: vec!["127.0.0.1:1".into()], ..StoreConfig::default() });
    let limiter = RateLimiter::new(nowhere, config()?);
    measure("alone", callers, span, move |n| {
        let limiter = limiter.clone();
        async move {
            let source = check(&limiter, &clients[n]).await;
            tokio::task::coop::consume_budget().await; // nothing else would let the other callers run
            source == Source::Fallback
        }
    })
    .await
}

/// The same limit as a rule.
fn config() -> Result<RateLimiterConfig, Box<dyn Error>> {
    let baked_in = RuleSet::from_json(
        br#"{"rule":[{"id":"route","key":["client"],"algorithm":"token_bucket","limit":100,"window":"60s","burst":50}]}"#,
    )?;
    Ok(RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
}

async fn check(limiter: &RateLimiter, client: &str) -> Source {
    let subject = Subject { client: Some(client), ..Subject::new("POST", "/v1/charges") };
    limiter.check(&Call::new(subject)).await.source()
}

/// Lets so many callers call `call` with the numbers of random keys, and prints what it cost.
async fn measure<F: Future<Output = bool> + Send + 'static>(
    name: &str,
    callers: usize,
    span: Duration,
    call: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Result<(), Box<dyn Error>> {
    let (start, cpu_before) = (Instant::now(), cpu_ns()?);
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let call = call.clone();
        tasks.spawn(async move {
            let (mut calls, mut failed, mut n) = (0u64, 0u64, caller * 7_919);
            while start.elapsed() < span {
                for _ in 0..CALLS_A_LOOK {
                    n = (n + 104_729) % KEYS;
                    failed += u64::from(!call(n).await);
                    calls += 1;
                }
            }
            (calls, failed)
        });
    }
    let counts = tasks.join_all().await;
    let (calls, failed) = counts.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let (cpu, wall_us) = (cpu_ns()? - cpu_before, start.elapsed().as_micros());
    let (rate, each) = (u128::from(calls) * 1_000_000 / wall_us, cpu / calls);
    println!("{name:8} {callers} callers: {each} CPU-ns a call, {rate} calls/s, {failed} failed");
    Ok(())
}

/// User and system time of this process, in nanoseconds, in steps of ten milliseconds.
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(ticks * 10_000_000)
}
