//! A node and two gateways on one thread, on a virtual clock, over a network that is cut and healed.
//!
//! The same code as in production: only `sys` differs. Run it with
//! `cargo test -p tallyring-tests --features sim --test simulation`.
#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, reason = "a broken fixture must panic")]

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use tallyring::config::Config;
use tallyring::node::Node;
use tallyring_client::{Call, RateLimiter, RateLimiterConfig, RuleSet, Source, Store, StoreConfig, Subject};

/// Units that the bucket of the simulation holds; it regains none while a simulation lasts.
const CAPACITY: u64 = 60;

/// A period so long that nothing comes back meanwhile: 300 days.
const PERIOD_US: u64 = 300 * 86_400 * 1_000_000;

/// When the first gateway loses its link to the store, and when it gets it back.
const CUT_AT: Duration = Duration::from_millis(1_000);
const HEALED_AT: Duration = Duration::from_millis(2_000);

/// After the healing everybody must be served by the store again by then.
const SERVED_AGAIN_AT: Duration = Duration::from_millis(4_500);

/// When a gateway stops asking.
const ENDS_AT: Duration = Duration::from_millis(6_000);

/// One decision, as a gateway saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    at: Duration,
    gateway: &'static str,
    allowed: bool,
    remaining: u64,
    source: Source,
}

type Trace = Rc<RefCell<Vec<Event>>>;

fn config() -> Config {
    let anywhere = |port| (Ipv4Addr::UNSPECIFIED, port).into();
    Config {
        native_addr: anywhere(4170),
        http_addr: anywhere(4171),
        resp_addr: anywhere(4172),
        peer_addr: anywhere(4174),
        advertise_host: Some("store".parse().unwrap()),
        shards: "2".parse().unwrap(),
        insecure: true,
        ..Config::default()
    }
}

fn limiter(gateway: &'static str, seed: u64) -> RateLimiter {
    let store = Store::open(StoreConfig {
        seeds: vec!["store:4170".into()],
        name: gateway.into(),
        deadline: Duration::from_millis(30),
        random_seed: Some(seed ^ gateway.len() as u64),
        ..StoreConfig::default()
    });
    let rule = format!(
        r#"{{"id":"shared","key":["client"],"algorithm":"token_bucket","limit":{CAPACITY},"window":"{PERIOD_US}us","fallback_gateways":2}}"#
    );
    let baked_in = RuleSet::from_json(format!(r#"{{"rule":[{rule}]}}"#).as_bytes()).unwrap();
    RateLimiter::new(store, RateLimiterConfig { baked_in, ..RateLimiterConfig::default() })
}

/// Asks every 50 ms of simulated time, and notes each answer.
async fn ask_until_the_end(gateway: &'static str, seed: u64, trace: Trace) -> turmoil::Result {
    let limiter = limiter(gateway, seed);
    while turmoil::sim_elapsed().unwrap() < ENDS_AT {
        let subject = Subject { client: Some("the-client"), ..Subject::new("GET", "/") };
        let decision = limiter.check(&Call::new(subject)).await;
        let speaker = decision.speaker().unwrap();
        trace.borrow_mut().push(Event {
            at: turmoil::sim_elapsed().unwrap(),
            gateway,
            allowed: decision.allowed,
            remaining: speaker.remaining,
            source: speaker.source,
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// One whole simulation.
fn simulate(seed: u64) -> Vec<Event> {
    tallyring::sys::random::start_from(seed);
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .simulation_duration(Duration::from_secs(20))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(5))
        .tcp_capacity(4_096)
        .build();
    let trace = Trace::default();
    sim.host("store", || async {
        let node = Node::start(config()).await?;
        std::future::pending::<()>().await;
        node.drain().await;
        Ok(())
    });
    for gateway in ["gateway-a", "gateway-bb"] {
        sim.client(gateway, ask_until_the_end(gateway, seed, Rc::clone(&trace)));
    }
    sim.client("fate", async {
        tokio::time::sleep(CUT_AT).await;
        turmoil::partition("gateway-a", "store");
        tokio::time::sleep(HEALED_AT - CUT_AT).await;
        turmoil::repair("gateway-a", "store");
        Ok(())
    });
    sim.run().unwrap();
    trace.take()
}

fn sources(trace: &[Event], gateway: &str, from: Duration, to: Duration) -> Vec<Source> {
    let of = |event: &&Event| event.gateway == gateway && event.at >= from && event.at < to;
    trace.iter().filter(of).map(|event| event.source).collect()
}

/// Whether the store has decided: now, or a moment ago for as long as its refusal holds.
fn is_exact(source: &Source) -> bool {
    matches!(source, Source::Store | Source::DenyCache)
}

/// The seeds to run: `SIM_SEEDS` of them, from `SIM_SEED` on.
fn seeds() -> std::ops::Range<u64> {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"));
    let first = number("SIM_SEED", 0);
    first..first + number("SIM_SEEDS", 5)
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in seeds() {
        assert_eq!(simulate(seed), simulate(seed), "seed {seed}");
    }
    assert_ne!(simulate(0), simulate(1), "the seed decides nothing");
}

#[test]
fn a_cut_gateway_answers_from_its_fallback_and_is_exact_again_after_the_healing() {
    for seed in seeds() {
        let trace = simulate(seed);
        let sources = |gateway, from, to| sources(&trace, gateway, from, to);
        let slack = Duration::from_millis(100);
        let cut = sources("gateway-a", CUT_AT + slack, HEALED_AT);
        assert!(cut.len() > 5 && cut.iter().all(|source| *source == Source::Fallback), "seed {seed}: {cut:?}");
        let healed = sources("gateway-a", SERVED_AGAIN_AT, ENDS_AT);
        assert!(healed.len() > 5 && healed.iter().all(is_exact), "seed {seed}: {healed:?}");
        let other = sources("gateway-bb", slack, ENDS_AT);
        assert!(other.len() > 50 && other.iter().all(is_exact), "seed {seed}: {other:?}");
    }
}

#[test]
fn the_store_admits_exactly_the_capacity() {
    for seed in seeds() {
        let trace = simulate(seed);
        let admitted = |source| trace.iter().filter(|e| e.allowed && e.source == source).count() as u64;
        assert!(admitted(Source::Store) <= CAPACITY, "seed {seed}: {} by the store", admitted(Source::Store));
        // Each gateway's share is half; a reply that was lost may have charged the store and the fallback both.
        assert!(admitted(Source::Fallback) <= CAPACITY, "seed {seed}: {} by fallbacks", admitted(Source::Fallback));
        let total = admitted(Source::Store) + admitted(Source::Fallback);
        assert!(total >= CAPACITY - 5, "seed {seed}: only {total} of {CAPACITY} admitted in all");
    }
}
