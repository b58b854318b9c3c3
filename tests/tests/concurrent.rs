//! Many gateways, one key, real sockets: together they are admitted exactly what the limit allows.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real threads")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use tallyring::config::Config;
use tallyring::node::Node;
use tallyring_client::{Algorithm, Ask, Key, Limit, Period, Store, StoreConfig};
use tallyring_protocol::{AlgorithmCode, Charge, Define, Hello, PROTOCOL_VERSION, PeriodCode, Reply, Request, frame};

const THREADS: u64 = 16;
const CALLS: u64 = 200;

/// What everybody together may use; nothing comes back while a test runs.
const CAPACITY: u64 = 1_000;

/// 400 days.
const LONG_US: u64 = 400 * 86_400 * 1_000_000;

fn config(shards: &str) -> Config {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Config {
        native_addr: any,
        http_addr: any,
        resp_addr: any,
        peer_addr: any,
        shards: shards.parse().unwrap(),
        ..Config::default()
    }
}

/// One gateway on a thread of its own: its runtime, its connections. Returns how many of its calls were allowed.
fn gateway(address: SocketAddr, limit: Limit) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let deadline = Duration::from_secs(30);
        let store = Store::open(StoreConfig { seeds: vec![address.to_string()], deadline, ..StoreConfig::default() });
        let limit = store.define(limit).unwrap();
        let key = Key::raw(b"everybody's").unwrap();
        let calls = (0..CALLS).map(|_| async {
            let decision = store.check(&limit, &key, Ask::new(1)).await.unwrap();
            u64::from(decision.allowed)
        });
        let mut allowed = 0;
        for call in calls {
            allowed += call.await;
        }
        allowed
    })
}

async fn check(algorithm: Algorithm, units: u64, period_us: u64, burst: Option<u64>) {
    let node = Node::start(config("2")).await.unwrap();
    let address = node.native_addr();
    let limit = Limit::new(algorithm, units, Period::Micros(period_us), burst).unwrap();
    let gateways: Vec<_> = (0..THREADS).map(|_| std::thread::spawn(move || gateway(address, limit))).collect();
    let allowed: u64 = gateways.into_iter().map(|gateway| gateway.join().unwrap()).sum();
    assert_eq!(allowed, CAPACITY, "{algorithm:?}");
    node.drain().await;
}

#[tokio::test]
async fn sixteen_gateways_admit_a_token_bucket_exactly() {
    check(Algorithm::TokenBucket, 1, LONG_US, Some(CAPACITY)).await;
}

#[tokio::test]
async fn sixteen_gateways_admit_a_leaky_bucket_exactly() {
    check(Algorithm::LeakyBucket, 1, LONG_US, Some(CAPACITY)).await;
}

#[tokio::test]
async fn sixteen_gateways_admit_a_fixed_window_exactly() {
    check(Algorithm::FixedWindow, CAPACITY, LONG_US, None).await;
}

#[tokio::test]
async fn sixteen_gateways_admit_a_sliding_log_exactly() {
    check(Algorithm::SlidingLog, CAPACITY, LONG_US, None).await;
}

#[tokio::test]
async fn sixteen_gateways_admit_a_sliding_counter_exactly() {
    check(Algorithm::SlidingCounter, CAPACITY, LONG_US, None).await;
}

/// A client that routes nothing: it sends everything to the shard that it is told.
struct Bare {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Bare {
    fn connect(address: SocketAddr, shard: u16) -> Bare {
        let mut bare = Bare { stream: TcpStream::connect(address).unwrap(), bytes: Vec::new() };
        let mut out = Vec::new();
        let version = PROTOCOL_VERSION;
        Hello { version, shard, deadline_max_us: 0, instance: 1, name: "bare", token: "" }.encode(&mut out);
        Request::Define(Define {
            handle: 0,
            algorithm: AlgorithmCode::TokenBucket,
            limit: 1,
            period: PeriodCode::Micros(LONG_US),
            burst: 10,
            shadow: false,
            sync: false,
            rule_version: 0,
            keys_max: 0,
            rule: "",
        })
        .encode(1, &mut out);
        bare.stream.write_all(&out).unwrap();
        bare
    }

    /// What is left of `key`'s budget after one more unit.
    fn check(&mut self, key: &Key) -> u64 {
        let mut out = Vec::new();
        let charge = Charge { handle: 0, cost: 1, keep: 0, force: false, key: key.as_ref() };
        Request::Check(charge).encode(2, &mut out);
        self.stream.write_all(&out).unwrap();
        loop {
            while let Some((frame, taken)) = frame::split(&self.bytes, 1 << 20).unwrap() {
                let reply = Reply::decode(&frame).unwrap();
                let remaining = if let Reply::Decision(decision) = reply { Some(decision.remaining) } else { None };
                self.bytes.drain(..taken);
                if let Some(remaining) = remaining {
                    return remaining;
                }
            }
            let mut read = [0; 4096];
            let len = self.stream.read(&mut read).unwrap();
            assert_ne!(len, 0, "the node hung up");
            self.bytes.extend_from_slice(&read[..len]);
        }
    }
}

#[tokio::test]
async fn a_key_has_one_counter_whichever_shard_it_is_sent_to() {
    let node = Node::start(config("2")).await.unwrap();
    let address = node.native_addr();
    let routing = tokio::task::spawn_blocking(move || {
        let mut shards = [Bare::connect(address, 0), Bare::connect(address, 1)];
        for n in 0..20 {
            let key = Key::raw(format!("key {n}").as_bytes()).unwrap();
            let left = [0, 1, 1, 0].map(|shard: usize| shards[shard].check(&key));
            assert_eq!(left, [9, 8, 7, 6], "{n}");
        }
    });
    routing.await.unwrap();
    node.drain().await;
}
