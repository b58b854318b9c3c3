//! Every recorded trace, asked of a node over the native protocol, gets the recorded decisions.
//!
//! The node is whole: sockets, acceptor, shards, mailboxes. Only its clock is set by hand, to each event's instant. All
//! keys of a trace have one tag, so one shard decides everything; each trace is played once over the connection of that
//! shard and once over another's, which forwards every request.
//!
//! What differs from a trace: a wait saturates at 2^63 - 1, a decision does not repeat its limit, and what no frame can
//! say (a cost of 1.5, a key of 513 bytes) is not asked.

#![cfg(not(feature = "sim"))]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, reason = "a test of real threads")]

mod answer;
mod connection;
mod frames;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tallyring::config::Config;
use tallyring::node::Node;
use tallyring::sys::clock::Clock;

use connection::Connection;
use frames::Frames;

/// Shards of the node, and connections that each trace is played over.
const SHARDS: u16 = 2;

/// Events of one instant that are sent in one write, and so decided in one turn.
const BURST_MAX: usize = 32;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/vectors")
}

/// An event that a frame can say, and what the trace says to it.
struct Asked<'a> {
    event: &'a str,
    expect: &'a str,
}

/// One playing of a trace over one connection.
struct Play<'a> {
    name: &'a str,
    connection: Connection,
    clock: &'static AtomicU64,
    frames: Frames,
    burst: Vec<Asked<'a>>,
    asked: usize,
}

impl<'a> Play<'a> {
    fn event(&mut self, event: &'a str, expect: &'a str) {
        let parsed: Option<Value> = serde_json::from_str(event).ok();
        let is_known = !["line", "op", "t_us"].iter().any(|field| answer::is_invalid(expect, field));
        if let (true, Some(t_us)) = (is_known, parsed.as_ref().and_then(|event| event["t_us"].as_u64())) {
            self.move_time(t_us);
        }
        match parsed.filter(|_| is_known).and_then(|event| self.frames.put(&event)) {
            Some(()) => self.burst.push(Asked { event, expect }),
            None => assert!(expect.contains(r#""error":"invalid""#), "{}: no frame says {event}", self.name),
        }
        if self.burst.len() == BURST_MAX {
            self.send();
        }
    }

    /// Time goes forward or stands still, as in a trace; what was asked before is decided before.
    fn move_time(&mut self, t_us: u64) {
        if t_us > self.clock.load(Ordering::Acquire) {
            self.send();
            self.clock.store(t_us, Ordering::Release);
        }
    }

    /// Sends what has gathered, and compares the answers.
    fn send(&mut self) {
        let now_us = self.clock.load(Ordering::Acquire);
        let answers = self.connection.ask(&mut self.frames, now_us);
        assert_eq!(answers.len(), self.burst.len());
        for (Asked { event, expect }, found) in self.burst.drain(..).zip(answers) {
            assert_eq!(found, answer::expected(expect), "{}: {event}", self.name);
            self.asked += 1;
        }
    }
}

/// Plays a trace over the connection for `shard` of a fresh node; how many of its events were asked.
fn play(name: &str, node: SocketAddr, shard: u16, clock: &'static AtomicU64) -> usize {
    let read = |kind: &str| std::fs::read_to_string(vectors().join(format!("{name}.{kind}.jsonl"))).unwrap();
    let (events, decisions) = (read("in"), read("out"));
    let events: Vec<&str> = events.lines().filter(|event| !event.trim().is_empty()).collect();
    assert_eq!(events.len(), decisions.lines().count(), "{name}: a decision each");
    let connection = Connection::open(node, shard);
    let mut play = Play { name, connection, clock, frames: Frames::default(), burst: Vec::new(), asked: 0 };
    for (event, expect) in events.into_iter().zip(decisions.lines()) {
        play.event(event, expect);
    }
    play.send();
    play.asked
}

async fn check(name: &'static str) {
    for shard in 0..SHARDS {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let config = Config {
            native_addr: any,
            http_addr: any,
            shards: SHARDS.to_string().parse().unwrap(),
            ..Config::default()
        };
        let clock: &'static AtomicU64 = Box::leak(Box::default());
        let node = Node::start_on(Clock::set_by_hand(clock), config).await.unwrap();
        let address = node.native_addr();
        let asked = tokio::task::spawn_blocking(move || play(name, address, shard, clock)).await.unwrap();
        assert!(asked > 0, "{name}: nothing was asked");
        node.drain().await;
    }
}

macro_rules! traces {
    ($($name:ident)*) => {
        const TRACES: &[&str] = &[$(stringify!($name)),*];
        $(#[tokio::test] async fn $name() { check(stringify!($name)).await; })*
    };
}

traces! {
    token_bucket gcra leaky_bucket fixed_window sliding_log sliding_counter concurrency reserve_settle check_all
    more_conc more_dense0 more_dense1 more_directed more_directed2 more_slow0 more_slow1 more_wide
}

#[test]
fn every_recorded_trace_has_a_test() {
    let files = std::fs::read_dir(vectors()).unwrap().count();
    assert_eq!(files, TRACES.len() * 2, "each trace is one file in and one out");
}
