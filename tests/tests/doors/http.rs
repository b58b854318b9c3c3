//! `POST /v1/limit`: an event without its instant, over one connection that stays open. A raw key places itself, so the
//! node has one shard: on several, the keys of a check_all would have to share a tag.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::door::Door;
use crate::play;
use crate::tag::tagged;

pub(crate) async fn check(name: &'static str) {
    play::check(name, 1, |node| {
        let address = node.http_addr();
        Box::new(move || Http::open(address))
    })
    .await;
}

/// The same of a node that does not own the keys.
pub(crate) async fn check_forwarded(name: &'static str) {
    play::check_forwarded(name, |asked, _| {
        let address = asked.http_addr();
        Box::new(move || Http { keys_have_tags: true, ..Http::open(address) })
    })
    .await;
}

struct Http {
    stream: BufReader<TcpStream>,
    events: Vec<Value>,
    /// Whether keys are given a tag: where there are several shards, one has them all.
    keys_have_tags: bool,
}

impl Http {
    fn open(node: SocketAddr) -> Http {
        let stream = TcpStream::connect(node).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Http { stream: BufReader::new(stream), events: Vec::new(), keys_have_tags: false }
    }

    fn post(&mut self, event: &Value, now_us: u64) -> Value {
        let body = event.to_string();
        let head = format!("POST /v1/limit HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        self.stream.get_mut().write_all(format!("{head}{body}").as_bytes()).unwrap();
        let (status, length, at_us) = self.head();
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        // A reserve that repeats its first decision names the instant of that one.
        assert!(at_us.is_none_or(|at_us| at_us <= now_us), "{at_us:?} lies ahead of {now_us}");
        said(status, answer)
    }

    /// The status, the body's length and the instant that the answer names.
    fn head(&mut self) -> (u16, usize, Option<u64>) {
        let (mut status, mut length, mut at_us) = (None, None, None);
        loop {
            let mut line = String::new();
            assert_ne!(self.stream.read_line(&mut line).unwrap(), 0, "the node hung up");
            let line = line.trim_end();
            if line.is_empty() {
                return (status.unwrap(), length.unwrap(), at_us);
            }
            match line.split_once(": ") {
                None => status = line.split(' ').nth(1).and_then(|code| code.parse().ok()),
                Some(("content-length", value)) => length = value.parse().ok(),
                Some(("tallyring-at-us", value)) => at_us = value.parse().ok(),
                Some(_) => {}
            }
        }
    }
}

impl Door for Http {
    fn put(&mut self, event: &Value) -> Option<()> {
        let mut event = if self.keys_have_tags { tagged(event) } else { event.clone() };
        event.as_object_mut()?.remove("t_us");
        self.events.push(event);
        Some(())
    }

    fn ask(&mut self, now_us: u64) -> Vec<Value> {
        let events = std::mem::take(&mut self.events);
        events.iter().map(|event| self.post(event, now_us)).collect()
    }

    fn worded(recorded: Value) -> Value {
        recorded
    }
}

/// An answer in the words of a trace: a problem says in its own words what a trace says in one.
fn said(status: u16, answer: Value) -> Value {
    match status {
        200 => answer,
        400 => json!({ "error": "invalid", "field": answer["errors"][0]["path"] }),
        503 if answer["type"] == "urn:tallyring:problem:full" => json!({ "error": "full" }),
        _ => panic!("{status}: {answer}"),
    }
}
