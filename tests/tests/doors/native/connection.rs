//! A connection that blocks: hello, then bursts of frames and their replies.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tallyring_protocol::bounds::REPLY_BYTES_MAX;
use tallyring_protocol::{Hello, PROTOCOL_VERSION, Reply, frame};

use super::answer;
use super::frames::{Frames, Subject};

pub(super) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub(super) fn open(node: SocketAddr, shard: u16) -> Connection {
        let mut stream = TcpStream::connect(node).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut hello = Vec::new();
        let (version, name) = (PROTOCOL_VERSION, "trace");
        Hello { version, shard, deadline_max_us: 0, instance: 1, name, token: "" }.encode(&mut hello);
        stream.write_all(&hello).unwrap();
        Connection { stream, read: Vec::new() }
    }

    /// Sends the frames that have gathered, and returns what is said to each event, in their order.
    pub(super) fn ask(&mut self, frames: &mut Frames, now_us: u64) -> Vec<Value> {
        self.stream.write_all(&frames.bytes).unwrap();
        frames.bytes.clear();
        let subjects = std::mem::take(&mut frames.subjects);
        let events = std::mem::take(&mut frames.events);
        let mut said: Vec<Option<Value>> = vec![None; events];
        let mut refused: Vec<Vec<(usize, Value)>> = vec![Vec::new(); events];
        for _ in 0..subjects.len() {
            self.reply(|id, reply| match subjects[id as usize - 1] {
                Subject::Event { event } => said[event] = Some(answer::found(reply, now_us)),
                Subject::Limit { event, part, handle } => {
                    if let Reply::Invalid { field, .. } = reply {
                        frames.forget(handle);
                        let path = part.map_or(field.to_string(), |part| format!("checks[{part}].{field}"));
                        refused[event].push((part.unwrap_or(0), json!({ "error": "invalid", "field": path })));
                    } else {
                        assert_eq!(*reply, Reply::Defined);
                    }
                }
            });
        }
        said.into_iter().zip(refused).map(|(said, refused)| first(said.unwrap(), refused)).collect()
    }

    /// Reads one reply; pushes are skipped.
    fn reply(&mut self, take: impl FnOnce(u32, &Reply<'_>)) {
        loop {
            while let Some((found, len)) = frame::split(&self.read, REPLY_BYTES_MAX).unwrap() {
                if found.id != 0 {
                    take(found.id, &Reply::decode(&found).unwrap());
                    self.read.drain(..len);
                    return;
                }
                self.read.drain(..len);
            }
            let mut chunk = [0; 16 * 1_024];
            let len = self.stream.read(&mut chunk).unwrap();
            assert_ne!(len, 0, "the node hung up");
            self.read.extend_from_slice(&chunk[..len]);
        }
    }
}

/// What is wrong first: a part's limit comes before its cost, and behind everything of an earlier part.
fn first(said: Value, refused: Vec<(usize, Value)>) -> Value {
    let Some((part, refusal)) = refused.into_iter().min_by_key(|(part, _)| *part) else { return said };
    let field = said["field"].as_str().expect("a request under a limit that was refused is refused");
    let of = |field: &str| field.strip_prefix("checks[")?.split(']').next()?.parse::<usize>().ok();
    if of(field).is_some_and(|of| of < part) { said } else { refusal }
}
