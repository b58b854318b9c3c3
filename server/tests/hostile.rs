//! Hostile bytes on the native port: a precise goodbye or a closed connection, others unaffected, memory flat.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of a process may wait and panic")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{Got, Native, Serve};
use tallyring_protocol::{AlgorithmCode, Hello, PROTOCOL_VERSION, PeriodCode};

/// A well-behaved client that must not notice what the others do.
struct Witness(Native);

impl Witness {
    fn new(node: &Serve) -> Witness {
        let mut native = Native::connect(node.native, 0, "");
        native.welcome();
        native.define_bucket(1_000_000, 3_600_000_000, 1_000_000);
        native.reply();
        Witness(native)
    }

    fn is_served(&mut self) {
        self.0.check("witness", 1);
        assert!(matches!(self.0.reply().1, Got::Decision { allowed: true, .. }));
    }
}

/// Sends `bytes` on a fresh connection, and returns what comes back until it closes.
fn answer_to(node: &Serve, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(node.native).unwrap();
    stream.set_read_timeout(Some(common::PATIENCE)).unwrap();
    // The server may have closed already: that, too, is an answer.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("neither answered nor closed"),
        _ => answer,
    }
}

/// A reproducible stream of bytes.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

fn hello() -> Vec<u8> {
    let mut bytes = Vec::new();
    Hello { version: PROTOCOL_VERSION, shard: 0, deadline_max_us: 1, instance: 1, name: "x", token: "" }
        .encode(&mut bytes);
    bytes
}

#[test]
fn a_length_of_four_gigabytes_is_refused_at_once() {
    let node = Serve::start(&["--shards", "1"]);
    let mut witness = Witness::new(&node);
    let began = Instant::now();
    let mut native = Native::silent(node.native);
    native.stream.write_all(&[0xFF; 4]).unwrap();
    assert_eq!(native.reply().1, Got::Goodbye("Malformed".into()));

    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.stream.write_all(&[11, 0, 0, 0]).unwrap();
    assert_eq!(native.reply().1, Got::Goodbye("Malformed".into()));

    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.stream.write_all(&[0xFF; 64]).unwrap();
    assert_eq!(native.reply().1, Got::Goodbye("Malformed".into()));
    assert_eq!(native.reply().1, Got::Closed);
    assert!(began.elapsed() < Duration::from_secs(5), "it waited for the bytes of an impossible frame");
    witness.is_served();
}

#[test]
fn random_bytes_are_answered_or_cut_off_and_cost_no_memory() {
    let node = Serve::start(&["--shards", "1"]);
    let mut witness = Witness::new(&node);
    let storm = |from: u64, to: u64| {
        std::thread::scope(|threads| {
            for lane in 0..8 {
                let node = &node;
                threads.spawn(move || {
                    for seed in (from..to).filter(|seed| seed % 8 == lane) {
                        let behind_hello = seed % 2 == 0;
                        let mut bytes = if behind_hello { hello() } else { Vec::new() };
                        // Lengths that make sense let the noise reach the decoders.
                        let mut frame = noise(seed + 1, 64 + (seed as usize * 37) % 2_000);
                        if seed % 3 == 0 {
                            let len = frame.len() as u32;
                            frame[..4].copy_from_slice(&len.to_le_bytes());
                        }
                        bytes.extend_from_slice(&frame);
                        let mut stream = TcpStream::connect(node.native).unwrap();
                        stream.set_read_timeout(Some(common::PATIENCE)).unwrap();
                        let _ = stream.write_all(&bytes);
                        let _ = stream.shutdown(std::net::Shutdown::Write);
                        let mut sink = Vec::new();
                        let _ = stream.read_to_end(&mut sink);
                        assert!(sink.len() < 64 * 1_024, "{} bytes for noise", sink.len());
                    }
                });
            }
        });
    };
    storm(0, 200);
    witness.is_served();
    let before = node.resident_kib();
    storm(200, 1_000);
    witness.is_served();
    let grown = node.resident_kib().saturating_sub(before);
    assert!(grown < 16 * 1_024, "{grown} KiB more after 800 hostile connections");
}

#[test]
fn a_truncated_frame_takes_nothing_with_it() {
    let node = Serve::start(&["--shards", "1"]);
    let mut witness = Witness::new(&node);
    let whole = [hello(), vec![200, 0, 0, 0, 0x10]].concat();
    for cut in 1..whole.len() {
        let mut stream = TcpStream::connect(node.native).unwrap();
        stream.write_all(&whole[..cut]).unwrap();
    }
    witness.is_served();
}

#[test]
fn a_frame_of_the_wrong_kind_is_told_apart_from_its_neighbours() {
    let node = Serve::start(&["--shards", "1"]);
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.define_bucket(0, 1, 0);
    native.stream.write_all(&[12, 0, 0, 0, 0x77, 0, 0, 0, 9, 0, 0, 0]).unwrap();
    native.check("k", 1);
    native.send(&tallyring_protocol::Request::Ping);
    let invalid = |got: Got| match got {
        Got::Invalid { field, reason } => (field, reason),
        other => panic!("not invalid: {other:?}"),
    };
    assert_eq!(invalid(native.reply().1), ("limit".into(), "limit: 0 is not in 1 ..= 10^12".into()));
    assert_eq!(invalid(native.reply().1).0, "kind");
    assert_eq!(invalid(native.reply().1).0, "handle");
    assert_eq!(native.reply().1, Got::Other("Pong".into()));
}

#[test]
fn a_limit_that_cannot_be_checked_cannot_be_defined() {
    let node = Serve::start(&["--shards", "1"]);
    let mut native = Native::connect(node.native, 0, "");
    native.welcome();
    native.define(AlgorithmCode::Concurrency, 5, PeriodCode::Micros(60_000_000), 0);
    native.check("k", 1);
    assert!(matches!(native.reply().1, Got::Invalid { field, .. } if field == "algorithm"));
    assert!(matches!(native.reply().1, Got::Invalid { field, .. } if field == "handle"));
    Witness::new(&node).is_served();
}

#[test]
fn a_hello_of_another_version_is_told_which_is_spoken() {
    let node = Serve::start(&["--shards", "1"]);
    let mut native = Native::silent(node.native);
    native.hello(99, 0, "");
    assert_eq!(native.reply().1, Got::Goodbye("Version".into()));
    assert_eq!(native.reply().1, Got::Closed);
}

#[test]
fn somebody_who_sends_a_byte_a_second_is_cut_off_and_harms_nobody() {
    let node = Serve::start(&["--shards", "1"]);
    let mut witness = Witness::new(&node);
    let mut slow = Native::silent(node.native);
    let began = Instant::now();
    let bytes = hello();
    let mut sent = 0;
    while began.elapsed() < Duration::from_millis(5_500) {
        if slow.stream.write_all(&bytes[sent..=sent]).is_err() {
            break;
        }
        sent += 1;
        witness.is_served();
        std::thread::sleep(Duration::from_secs(1));
    }
    assert_eq!(slow.reply().1, Got::Goodbye("Slow".into()));
    witness.is_served();
}

#[test]
fn a_peer_that_never_reads_blocks_nobody() {
    let node = Serve::start(&["--shards", "1"]);
    let mut witness = Witness::new(&node);
    let mut deaf = Native::connect(node.native, 0, "");
    deaf.stream.set_nonblocking(true).unwrap();
    let ping = [12, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0].repeat(1_000);
    let mut sent = 0;
    while let Ok(len) = deaf.stream.write(&ping) {
        sent += len;
        assert!(sent < 256 << 20, "the server takes bytes that it cannot answer");
    }
    witness.is_served();
    assert!(node.resident_kib() < 200 * 1_024);
}

#[test]
fn an_empty_connection_is_no_error() {
    let node = Serve::start(&["--shards", "1"]);
    drop(TcpStream::connect(node.native).unwrap());
    assert!(answer_to(&node, &[0; 64]).len() < 1_024);
    Witness::new(&node).is_served();
}

#[test]
fn one_address_cannot_take_every_place() {
    let node = Serve::start(&["--shards", "1", "--connections-max", "8", "--connections-per-address-max", "4"]);
    let connect = |address: &str| {
        let to = format!("{address}:{}", node.native.port()).parse().unwrap();
        Native::connect(to, 0, "")
    };
    let mut inside: Vec<Native> = (0..4).map(|_| connect("127.0.0.1")).collect();
    inside.iter_mut().for_each(|native| drop(native.welcome()));
    let mut fifth = connect("127.0.0.1");
    assert_eq!(fifth.reply().1, Got::Goodbye("Busy".into()));
    assert_eq!(fifth.reply().1, Got::Closed);
    let refused = "\ntallyring_connections_refused_total{door=\"native\",reason=\"address_full\"} 1\n";
    assert!(node.get("/metrics").1.contains(refused), "{}", node.get("/metrics").1);
    drop(inside);
    let give_up = Instant::now() + common::PATIENCE;
    while !node.get("/metrics").1.contains("\ntallyring_connections{door=\"native\"} 0\n") {
        assert!(Instant::now() < give_up, "places are not given back");
    }
    connect("127.0.0.1").welcome();
}

#[test]
fn who_asks_for_nothing_goes_and_half_a_frame_is_nothing() {
    let node = Serve::start(&["--shards", "1", "--idle-timeout", "3"]);
    let mut idle = Native::connect(node.native, 0, "");
    idle.welcome();
    let mut dripping = Native::connect(node.native, 0, "");
    dripping.welcome();
    let mut witness = Witness::new(&node);
    for n in 0..16 {
        if n % 4 == 3 && n < 12 {
            dripping.stream.write_all(&[12]).unwrap(); // three bytes of a length
        }
        witness.is_served();
        std::thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(idle.reply().1, Got::Goodbye("Slow".into()));
    assert_eq!(dripping.reply().1, Got::Goodbye("Slow".into()));
    witness.is_served();
    let metrics = node.get("/metrics").1;
    let idle = "\ntallyring_connections_refused_total{door=\"native\",reason=\"idle\"} 2\n";
    assert!(metrics.contains(idle), "{metrics}");
}

#[test]
fn probes_come_through_those_who_hold_every_http_connection() {
    let node = Serve::start(&["--shards", "1"]);
    let hold = |head: &[u8]| {
        let mut stream = TcpStream::connect(node.http).unwrap();
        stream.write_all(head).unwrap();
        stream
    };
    // More than the door has places for: silent ones, halves of heads, bodies that never come.
    let heads =
        [&b""[..], b"GET /metrics HTTP/1.1\r\nHo", b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"];
    let held: Vec<TcpStream> = (0..400).map(|n| hold(heads[n % heads.len()])).collect();
    assert_eq!(node.get("/livez").0, 200);
    let (code, metrics) = node.get("/metrics");
    assert_eq!(code, 200);
    let open = metrics.lines().find_map(|line| line.strip_prefix("tallyring_connections{door=\"http\"} ")).unwrap();
    assert!(open.parse::<u32>().unwrap() <= 192, "{open} connections of one address");
    assert!(!metrics.contains("tallyring_connections_refused_total{door=\"http\",reason=\"ousted\"} 0\n"));
    drop(held);
}
