//! The native protocol: frames in bursts. All keys of a trace have one tag, so one shard decides everything; each trace is
//! played once over the connection of that shard and once over another's, which forwards every request.

mod answer;
mod connection;
mod frames;

use std::net::SocketAddr;

use serde_json::Value;

use self::connection::Connection;
use self::frames::Frames;
use crate::door::Door;
use crate::play;

/// Shards of the node, and connections that each trace is played over.
const SHARDS: u16 = 2;

pub(crate) async fn check(name: &'static str) {
    for shard in 0..SHARDS {
        play::check(name, SHARDS, |node| {
            let address = node.native_addr();
            Box::new(move || Native::open(address, shard))
        })
        .await;
    }
}

pub(crate) struct Native {
    connection: Connection,
    frames: Frames,
}

impl Native {
    pub(crate) fn open(node: SocketAddr, shard: u16) -> Native {
        Native { connection: Connection::open(node, shard), frames: Frames::default() }
    }

    /// Whether an event can be taken, which is not done.
    pub(crate) fn can_say(&self, event: &Value) -> bool {
        Frames::default().put(event).is_some()
    }
}

impl Door for Native {
    fn put(&mut self, event: &Value) -> Option<()> {
        self.frames.put(event)
    }

    fn ask(&mut self, now_us: u64) -> Vec<Value> {
        self.connection.ask(&mut self.frames, now_us)
    }

    fn worded(mut recorded: Value) -> Value {
        answer::forget_limits(&mut recorded);
        recorded
    }
}
