//! Playing a trace to a door, on a clock that is set by hand.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tallyring::config::Config;
use tallyring::node::Node;
use tallyring::sys::clock::Clock;
use tallyring_protocol::bounds::WAIT_US_MAX;
use tallyring_tests::cluster::Cluster;

use crate::door::Door;
use crate::tag::TAG;

/// Events of one instant that are sent in one write, and so decided in one turn where the door has turns.
const BURST_MAX: usize = 32;

pub(crate) fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/vectors")
}

/// Plays a trace to a fresh node of so many shards, through the door that `open` opens.
pub(crate) async fn check<D: Door + 'static>(
    name: &'static str,
    shards: u16,
    open: impl FnOnce(&Node) -> Box<dyn FnOnce() -> D + Send>,
) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let config = Config {
        native_addr: any,
        http_addr: any,
        resp_addr: any,
        peer_addr: any,
        shards: shards.to_string().parse().unwrap(),
        ..Config::default()
    };
    let clock: &'static AtomicU64 = Box::leak(Box::default());
    let node = Node::start_on(Clock::set_by_hand(clock), config).await.unwrap();
    let open = open(&node);
    let asked = tokio::task::spawn_blocking(move || play(name, open(), clock)).await.unwrap();
    assert!(asked > 0, "{name}: nothing was asked");
    node.drain().await;
}

/// Plays a trace to a fresh cluster of three nodes, through a door of one that does not own the keys; `open` is given that one
/// and the owner.
pub(crate) async fn check_forwarded<D: Door + 'static>(
    name: &'static str,
    open: impl FnOnce(&Node, &Node) -> Box<dyn FnOnce() -> D + Send>,
) {
    let clock: &'static AtomicU64 = Box::leak(Box::default());
    let cluster = Cluster::start(3, 2, || Clock::set_by_hand(clock)).await;
    let owner = cluster.owner_of(TAG);
    let open = open(&cluster.nodes[(owner + 1) % 3], &cluster.nodes[owner]);
    let asked = tokio::task::spawn_blocking(move || play(name, open(), clock)).await.unwrap();
    assert!(asked > 0, "{name}: nothing was asked");
    cluster.stop().await;
}

/// Plays a trace; how many of its events were asked.
fn play<D: Door>(name: &str, door: D, clock: &'static AtomicU64) -> usize {
    let read = |kind: &str| std::fs::read_to_string(vectors().join(format!("{name}.{kind}.jsonl"))).unwrap();
    let (events, decisions) = (read("in"), read("out"));
    let events: Vec<&str> = events.lines().filter(|event| !event.trim().is_empty()).collect();
    assert_eq!(events.len(), decisions.lines().count(), "{name}: a decision each");
    let mut play = Play { name, door, clock, burst: Vec::new(), asked: 0 };
    for (event, expect) in events.into_iter().zip(decisions.lines()) {
        play.event(event, expect);
    }
    play.send();
    play.asked
}

/// An event that the door can say, and what the trace says to it.
struct Asked<'a> {
    event: &'a str,
    expect: &'a str,
}

/// One playing of a trace through one door.
struct Play<'a, D> {
    name: &'a str,
    door: D,
    clock: &'static AtomicU64,
    burst: Vec<Asked<'a>>,
    asked: usize,
}

impl<'a, D: Door> Play<'a, D> {
    fn event(&mut self, event: &'a str, expect: &'a str) {
        let parsed: Option<Value> = serde_json::from_str(event).ok();
        // No door has a line, and none is told the time; an operation that does not exist moves no time either.
        let is_known = !["line", "op", "t_us"].iter().any(|field| is_invalid(expect, field));
        if let (true, Some(t_us)) = (is_known, parsed.as_ref().and_then(|event| event["t_us"].as_u64())) {
            self.move_time(t_us);
        }
        match parsed.filter(|_| is_known).and_then(|event| self.door.put(&event)) {
            Some(()) => self.burst.push(Asked { event, expect }),
            None => assert!(expect.contains(r#""error":"invalid""#), "{}: nothing says {event}", self.name),
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

    /// Asks what has gathered, and compares the answers.
    fn send(&mut self) {
        let now_us = self.clock.load(Ordering::Acquire);
        let answers = self.door.ask(now_us);
        assert_eq!(answers.len(), self.burst.len());
        for (Asked { event, expect }, found) in self.burst.drain(..).zip(answers) {
            assert_eq!(found, D::worded(recorded(expect)), "{}: {event}", self.name);
            self.asked += 1;
        }
    }
}

/// Whether a recorded answer says that this field is bad.
fn is_invalid(expect: &str, field: &str) -> bool {
    expect == format!(r#"{{"error":"invalid","field":"{field}"}}"#)
}

/// A recorded answer; waits are cut to the longest that can be said.
fn recorded(line: &str) -> Value {
    let cut: String = line.split_inclusive(|c: char| !c.is_ascii_digit()).map(saturated).collect();
    serde_json::from_str(&cut).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// A number over what the wire can say becomes the longest wait there is.
fn saturated(piece: &str) -> String {
    let digits = piece.trim_end_matches(|c: char| !c.is_ascii_digit());
    match digits.parse::<u128>() {
        Ok(number) => format!("{}{}", number.min(WAIT_US_MAX.into()), &piece[digits.len()..]),
        Err(_) => piece.to_owned(),
    }
}
